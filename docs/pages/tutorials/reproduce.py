"""
Reproduce the paper
===================

Every figure, table and claim of the RAW-UCB paper is an experiment that one command runs. This page shows the command and
reproduces a small part of the main figure step by step.
"""

# %%
# One command
# -----------
# .. code-block:: sh
#
#    make reproduce                            # in a checkout: creates an environment first
#    rotting reproduce                         # the same for an installed library with the extra "report"
#    rotting reproduce runtime theory          # only these experiments
#    rotting reproduce --full                  # the paper's sizes: takes hours
#    rotting reproduce --fresh                 # play every game again, without the cache
#
# The command prints the path of a report: one HTML file with the figures, the tables, and each claim of the paper with
# the measured value, its interval and a verdict. The same folder contains the figures as PDF and PNG, the tables as CSV and
# Markdown, and every result. The quick size takes a few minutes on two cores. Finished games are cached, so an interrupted run
# resumes and a second run is fast: the report says how many games came from the cache.
# Running times are always measured again.
#
# The experiments are:

from rotting.paper import experiments

for each in experiments.list_experiments():
    print(each)

# %%
# Data
# ----
# The library looks for data files in the folder that the environment variable ``ROTTING_DATA`` names. If a file is missing, one
# line says where to get it. The report uses those of Yahoo!; ``rotting.datasets.news()`` and ``rotting.datasets.batteries()``
# are problems from the others.
#
# ==================== ============================================================ ==========================================
# folder               files                                                        from
# ==================== ============================================================ ==========================================
# ``yahoo-r6a/``       ``ydata-fp-td-clicks-v1_0.20090501.gz`` to ``...0510.gz``    Yahoo! Webscope, R6A
# ``news-popularity/`` ``Facebook_Palestine.csv``                                   UCI Machine Learning Repository, no. 432
# ``nasa-battery/``    ``B0005.mat``, ``B0006.mat``, ``B0007.mat``, ``B0018.mat``   NASA's prognostics repository
# ==================== ============================================================ ==========================================
#
# Yahoo!'s click log may not be redistributed. Without it the nights are synthetic, and are labelled as such.
#
# The main figure, step by step
# -----------------------------
# The figure shows the regret after 10,000 rounds of the two-arm game over the size of the drop. The paper uses 30 sizes, 8
# policies and 2,000 runs; this page uses 6 sizes, 4 policies and 50 runs, which take seconds.

import rotting

policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.FEWA(alpha=0.06), rotting.UCB1()]
drops = [2 * 0.01 * 1.25**i for i in range(0, 30, 5)]
problems = rotting.grid(rotting.problems.two_arms, L=drops, horizon=10_000)
study = rotting.sweep(policies, problems, runs=50, seed=0)
figure = study.plot(x="L", log=True, log_y=True)

# %%
# A claim
# -------
# The paper says that RAW-UCB beats FEWA "consistently". Games are paired, so the difference has its own interval for each drop:

for L, result in zip(drops, study.results, strict=True):
    row = result.compare(against=rotting.FEWA(alpha=0.06)).rows[0]
    low, high = row["difference_low"], row["difference_high"]
    print(f"L = {L:5.2f}: {row['difference']:8.1f}, 95 % interval {low:8.1f} to {high:8.1f}")

# %%
# RAW-UCB is better where the difference is below zero. Fifty runs leave wide intervals; the report says for every claim whether
# its runs decide it. :doc:`The paper, section by section </paper>` says where each part is implemented, and which slips we
# found.
