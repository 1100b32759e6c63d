"""
Regret and oracles
==================

Regret is the difference between what the best policy that knows the means would have earned and what a policy did earn. What is
the best policy when arms wear out?
"""

# %%
# Means, not rewards
# ------------------
# Regret adds up the *means* of the pulled arms, not their rewards, because noise is luck. The mean is the one at that round and
# that number of pulls. This is called pseudo-regret.
#
# The optimal policy for rested arms
# ----------------------------------
# If all arms are rested, the optimal policy is greedy: it always pulls the arm with the largest mean at that moment. Since
# means only fall, nothing is gained by waiting. The same holds if all arms are restless. In both cases regret is exact, for
# every horizon at once.

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=1_000)
game = rotting.play(rotting.UCB1(), problem, run=2)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(np.cumsum(game.mean), label="UCB1: sum of means")
axes.plot(np.cumsum(game.mean) + game.regret, label="the optimal policy")
axes.plot(game.regret, label="regret: the difference")
axes.set(xlabel="round t", ylabel="reward")
axes.legend(frameon=False)

# %%
# Regret can decrease
# -------------------
# The optimal policy uses up the good arm first. After 250 rounds the arm is worn out for it, while a slower policy still has
# good pulls left. While the slower policy catches up, its regret decreases. So the regret of a single round can be negative;
# what counts is the total.
#
# When greedy is not optimal
# --------------------------
# With one rested and one restless arm, it can be optimal to take the smaller reward now, because it will be gone later while
# the other arm does not change. Small problems of this kind are solved by dynamic programming, and the result names its
# reference:

first, _ = rotting.theory.unlearnable(200)
result = rotting.simulate([rotting.GreedyOracle(), rotting.RAWUCB(sigma=0.1)], first, runs=1)
print(result.table())

# %%
# The greedy oracle knows every mean, and its regret is a quarter of the number of rounds. For larger problems with both kinds
# of decay, the optimal policy is not known. The reference is then the greedy oracle, and every table says so:

from rotting.problems import Exponential, Product

tired = [Product(rested=Exponential(0.9, rate=0.01 * k), restless=Exponential(1.0, rate=0.002)) for k in (1, 2, 3)]
both = rotting.Problem(tired, horizon=500)
print(rotting.simulate(rotting.UCB1(), both, runs=5).reference)

# %%
# Late rewards
# ------------
# The optimal policy knows the means and needs no rewards. Therefore regret has the same reference whether rewards come late or
# at once, and the cost of a delay is what the policy loses by knowing less. :doc:`Problems beyond a table of means </problems>`
# lists the reference for these and other problems.
