"""
Simulate and compare
====================

Three policies play a problem whose good arm drops. Which policy notices, how soon, and how certain is the result?
"""

# %%
# A problem
# ---------
# The paper's rested benchmark has two arms. One always pays 0. The other pays +1/2 at first, and -1/2 after a quarter of the
# game. The noise is Gaussian with a standard deviation of 1.

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=2_000)
problem

# %%
# Policies
# --------
# RAW-UCB and its efficient version are designed for arms that wear out. UCB1 never forgets. A policy is a value: it holds
# parameters, but nothing that it has learned.

policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.UCB1()]

# %%
# Games
# -----
# Each policy plays 200 games. In each game, all policies meet the same rewards: the n-th pull of an arm pays the same,
# whichever policy pulls it. A policy that is new begins interpreted, and is compiled meanwhile if that is worth it.

result = rotting.simulate(policies, problem, runs=200, seed=0)
print(result.table())

# %%
# Regret is the difference between what the optimal policy, which knows the means, would have earned and what a policy did earn.
# The table shows the mean regret with its interval, and the 10 % and 90 % quantiles of the games.

axes = result.plot()

# %%
# All curves are flat at first, because every policy soon finds the good arm. Then the arm drops. RAW-UCB can rely on recent
# rewards alone when they say enough; UCB1 has to wait until the drop shows in the mean of all rewards.
#
# Is the difference real?
# -----------------------
# The games are paired, so the policies can be compared game by game. That is more precise than comparing two separate
# intervals. The column ``minus UCB1`` has the mean difference and its interval.

print(result.compare(against=rotting.UCB1()))

# %%
# One game, round by round
# ------------------------
# ``rotting.play`` plays one of these games again and records every round.

game = rotting.play(rotting.RAWUCB(alpha=1.4), problem, run=3, seed=0)
figure = game.plot()

# %%
# The middle panel shows the index of each arm, an upper bound of its mean. The policy pulls the arm with the largest index.
# After the drop, the index of arm 1 falls within a few pulls, because short windows of recent rewards give a lower bound than
# the long window does.
#
# Numbers for other tools
# -----------------------

frame = result.to_pandas()
print(frame.tail(3))

# %%
# Next steps
# ----------
# - For other problems, combine the decays and arms in ``rotting.problems``; :ref:`the next tutorial
#   <sphx_glr_tutorials_your_own.py>` builds one.
# - For more policies, see ``rotting.list_policies()`` and :doc:`what each policy needs </policies>`.
# - To do the same on a grid of parameters, on a GPU or on a cluster, see :ref:`a sweep <sphx_glr_tutorials_sweep.py>`.
