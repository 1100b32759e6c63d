"""
A sweep, on one machine, a GPU or a cluster
===========================================

Which alpha should RAW-UCB use? A sweep plays a grid of policies on a grid of problems. One argument selects what plays the
games: threads, a GPU or a cluster. The result is the same, bit for bit.
"""

# %%
# A grid
# ------

import rotting

policies = rotting.grid(rotting.RAWUCB, alpha=[0.2, 0.5, 1.0, 1.4, 2.0, 4.0])
problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 0.3, 1.0, 3.0], horizon=2_000)
study = rotting.sweep(policies, problems, runs=100, seed=0)
study

# %%
# The heat map frames the best alpha of each problem. The numbers are the regret divided by that of the best alpha.

figure = study.heat_map()

# %%
# To choose one alpha for all problems, compare the geometric means of the regrets over the problems; the best comes first:

print(study.best_overall())

# %%
# A cluster
# ---------
# ``engine=`` accepts a Dask client. Only the line that creates the cluster differs between one machine, ten machines and a job
# queue; this page uses two threads of its own process. It needs the extra ``dask``.

from dask.distributed import Client, LocalCluster

with (
    LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
    Client(cluster) as client,
):
    again = rotting.sweep(policies[:2], problems[:1], runs=100, seed=0, engine=client)

bool((again.results[0].regret == study.results[0].regret[:2]).all())

# %%
# On SLURM, create the cluster as follows (``pip install dask-jobqueue``); the rest stays the same. ``keep=`` names a folder
# where finished games are saved, so that an interrupted sweep resumes:
#
# .. code-block:: python
#
#    from dask_jobqueue import SLURMCluster
#    cluster = SLURMCluster(cores=16, processes=1, memory="32GB", walltime="02:00:00")
#    cluster.scale(jobs=20)
#    study = rotting.sweep(policies, problems, runs=10_000, engine=Client(cluster), keep="/shared/games")
#
# A GPU
# -----
# ``engine="cuda"`` plays on the GPU of this machine; ``engine="auto"`` does so if there is a GPU and the simulation is large
# enough to justify the start-up time. Each GPU thread plays one run, so use many runs. This page uses a GPU if there is one:

try:
    again = rotting.sweep(policies[:2], problems[:1], runs=100, seed=0, engine="cuda")
    print("on the GPU:", bool((again.results[0].regret == study.results[0].regret[:2]).all()))
except rotting.errors.RottingError as error:
    print(type(error).__name__, "-", error)

# %%
# :doc:`Engines </engines>` lists measured speeds, explains why the result is the same everywhere, and shows how array jobs
# without a scheduler play shards that ``Result.merge`` combines.
