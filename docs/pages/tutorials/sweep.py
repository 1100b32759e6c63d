"""
A sweep, on one machine, a GPU or a cluster
===========================================

Which alpha should RAW-UCB have? A sweep plays a grid of policies on a grid of problems. What plays the games, threads, a GPU
or a cluster, is one argument, and the result is the same bit for bit.
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
# The best alpha of each problem is framed; the numbers are regret over that of the best.

figure = study.heat_map()

# %%
# One alpha for all problems: the one whose worst ratio is smallest.

print(study.best_overall())

# %%
# A cluster
# ---------
# ``engine=`` takes a client of Dask. One machine, ten, or a queue differ in the line that makes the cluster; here it is two
# threads of this process. It needs the extra ``dask``.

from dask.distributed import Client, LocalCluster

with (
    LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
    Client(cluster) as client,
):
    again = rotting.sweep(policies[:2], problems[:1], runs=100, seed=0, engine=client)

bool((again.results[0].regret == study.results[0].regret[:2]).all())

# %%
# On SLURM the cluster is made so (``pip install dask-jobqueue``), and the rest stays; ``keep=`` is a folder where finished
# games are kept, so a sweep that was stopped goes on:
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
# ``engine="cuda"`` plays on this machine's GPU, ``engine="auto"`` if there is one and the work is worth its start. A thread
# of the GPU is a run, so it wants many of them. This page takes what there is:

try:
    again = rotting.sweep(policies[:2], problems[:1], runs=100, seed=0, engine="cuda")
    print("on the GPU:", bool((again.results[0].regret == study.results[0].regret[:2]).all()))
except rotting.errors.RottingError as error:
    print(type(error).__name__, "-", error)

# %%
# How fast, on which GPU, and why the result is the same everywhere: :doc:`Engines </engines>`. Without a scheduler, array
# jobs play shards that ``Result.merge`` puts together; it is there, too.
