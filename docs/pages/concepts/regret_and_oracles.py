"""
Regret and oracles
==================

Regret is what a player who knows the means would have earned more. Who is that player, and what does he do when arms wear out?
"""

# %%
# Means, not rewards
# ------------------
# We add up the *means* of the arms that were pulled, not the rewards: noise is luck. The mean is the one of that round and
# that number of pulls. This is called pseudo-regret.
#
# The best player of rested arms
# ------------------------------
# If all arms are rested, the best player is greedy: always the arm with the largest mean now. Since means fall, nothing is
# gained by waiting. The same holds if all arms are restless. So regret is exact there, at every horizon at once.

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=1_000)
game = rotting.play(rotting.UCB1(), problem, run=2)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(np.cumsum(game.mean), label="UCB1: sum of means")
axes.plot(np.cumsum(game.mean) + game.regret, label="the best player")
axes.plot(game.regret, label="regret: the difference")
axes.set(xlabel="round t", ylabel="reward")
axes.legend(frameon=False)

# %%
# Regret can fall
# ---------------
# The best player uses up the good arm first. After 250 rounds it is worn out for him, while a player who was slow still has
# good pulls left. While he catches up, his regret falls. So the regret of a round may be negative; what counts is the end.
#
# When greedy loses
# -----------------
# With a rested arm and a restless one, the best player may take the smaller reward now: it is gone tomorrow, and the other
# one waits. Small problems of this kind are solved by dynamic programming, and the result says what it is compared with:

first, _ = rotting.theory.unlearnable(200)
result = rotting.simulate([rotting.GreedyOracle(), rotting.RAWUCB(sigma=0.1)], first, runs=1)
print(result.table())

# %%
# The greedy oracle knows every mean and loses a quarter of the rounds. For larger problems of both kinds nobody knows the
# best player. The reference is then the greedy oracle, and every table says so:

from rotting.problems import Exponential, Product

tired = [Product(rested=Exponential(0.9, rate=0.01 * k), restless=Exponential(1.0, rate=0.002)) for k in (1, 2, 3)]
both = rotting.Problem(tired, horizon=500)
print(rotting.simulate(rotting.UCB1(), both, runs=5).reference)

# %%
# Late rewards
# ------------
# The best player knows the means and needs no rewards. So where rewards come late, regret is against the same player as where
# they come at once, and a delay costs what the policy loses by knowing less. :doc:`Problems beyond a table of means
# </problems>` says what regret is measured against for these and other problems.
