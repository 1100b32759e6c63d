"""
Simulate and compare
====================

Three policies play a problem whose good arm drops. Which one notices, how soon, and can we be sure?
"""

# %%
# A problem
# ---------
# The paper's rested benchmark has two arms. One pays 0 for ever. The other pays +1/2 at first, and -1/2 after a quarter of the
# game. Rewards are noisy: Gaussian, with a standard deviation of 1.

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=2_000)
problem

# %%
# Policies
# --------
# RAW-UCB and its efficient version are made for arms that wear out. UCB1 never forgets. A policy is a value: it holds
# parameters, and nothing that it learned.

policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.UCB1()]

# %%
# Games
# -----
# Each policy plays 200 games. In each game, all of them meet the same rewards: the n-th pull of an arm pays the same whoever
# pulls. The first time a policy plays, it is compiled, which takes some seconds.

result = rotting.simulate(policies, problem, runs=200, seed=0)
print(result.table())

# %%
# Regret is what a player who knows the means would have earned more. The interval is that of the mean; between the 10 % and
# the 90 % lie most of the games.

axes = result.plot()

# %%
# All curves are flat at first: the good arm is found soon. Then it drops. RAW-UCB looks at recent rewards alone, where these
# tell enough; UCB1 must wait until the drop shows in the mean of all.
#
# Is the difference real?
# -----------------------
# The games are paired, so we can compare them one by one. That says more than two intervals side by side.

print(result.differences(rotting.UCB1()))

# %%
# One game, round by round
# ------------------------
# ``rotting.play`` plays one of these games again and keeps all that decided it.

game = rotting.play(rotting.RAWUCB(alpha=1.4), problem, run=3, seed=0)
figure = game.plot()

# %%
# In the middle: the index of each arm, an upper bound of its mean. The arm with the largest is pulled. After the drop, the
# index of arm 1 falls within few pulls, because short windows of recent rewards give it a lower bound than the long one.
#
# Numbers for other tools
# -----------------------

frame = result.to_pandas()
print(frame.tail(3))

# %%
# Where to go on
# --------------
# - Other problems: ``rotting.problems`` has decays and arms to put together, and :ref:`the next page
#   <sphx_glr_tutorials_your_own.py>` makes one.
# - More policies: ``rotting.list_policies()``, and :doc:`what each needs </policies>`.
# - The same on a grid of parameters, on a GPU or on a cluster: :ref:`a sweep
#   <sphx_glr_tutorials_sweep.py>`.
