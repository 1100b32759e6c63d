"""
Reproduce the paper
===================

Every figure, table and claim of the RAW-UCB paper is an experiment that one command runs. This page shows the command, and
plays a small part of the main figure by hand.
"""

# %%
# One command
# -----------
# .. code-block:: sh
#
#    make reproduce                            # in a checkout: sets up its environment first
#    rotting reproduce                         # the same where the library is installed, with the extra "report"
#    rotting reproduce runtime theory          # some of the experiments
#    rotting reproduce --full                  # the paper's sizes: hours
#    rotting reproduce --fresh                 # without the games that earlier runs kept
#
# It prints the path of a report: one HTML file with interactive figures, the tables, and each claim of the paper with what
# was measured, its interval and a verdict. Beside it are the figures as PDF and PNG, the tables as CSV and Parquet, and every
# result. The quick size takes some minutes on two cores. Finished games are kept, so a run that was stopped goes on, and a
# second one is quick: the report says how many games it did not play itself, and when and where they were played. Times are
# always measured anew.
#
# The experiments are:

from rotting import experiments

for each in experiments.list_experiments():
    print(each)

# %%
# Data
# ----
# Files are expected in the folder that ``ROTTING_DATA`` names. For a missing file one line says where to get it, and the other
# experiments run.
#
# ==================== ============================================================ ==========================================
# folder               files                                                        from
# ==================== ============================================================ ==========================================
# ``yahoo-r6a/``       ``ydata-fp-td-clicks-v1_0.20090501.gz`` to ``...0510.gz``    Yahoo! Webscope, R6A
# ``news-popularity/`` ``Facebook_Palestine.csv``                                   UCI Machine Learning Repository, no. 432
# ``nasa-battery/``    ``B0005.mat``, ``B0006.mat``, ``B0007.mat``, ``B0018.mat``   NASA's prognostics repository
# ==================== ============================================================ ==========================================
#
# Yahoo!'s click log may not be passed on. Without it the nights are synthetic, and labelled so.
#
# The main figure, by hand
# ------------------------
# Regret after 10,000 rounds of the two-arm game, over the size of the drop. The paper has 30 sizes, 8 policies and 2,000
# runs; here are six, four and 50, which take seconds.

import rotting

policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.FEWA(alpha=0.06), rotting.UCB1()]
drops = [2 * 0.01 * 1.25**i for i in range(0, 30, 5)]
problems = rotting.grid(rotting.problems.two_arms, L=drops, horizon=10_000)
study = rotting.sweep(policies, problems, runs=50, seed=0)
figure = study.plot(x="L", log=True, log_y=True)

# %%
# A claim
# -------
# The paper says that RAW-UCB beats FEWA "consistently". Games are paired, so each drop has an interval of its own for the
# difference:

for L, result in zip(drops, study.results, strict=True):
    row = result.differences(rotting.FEWA(alpha=0.06)).rows[0]
    print(f"L = {L:5.2f}: {row['mean']:8.1f}, 95 % interval {row['low']:8.1f} to {row['high']:8.1f}")

# %%
# Below zero, RAW-UCB is better. Fifty runs leave wide intervals; the report says for every claim whether the runs decide it.
# :doc:`The paper, section by section </paper>` says where each part lives in the code, and which slips we found.
