"""
What cannot be learned
======================

RAW-UCB learns rested problems and restless problems. No policy can learn all problems with a rested *and* a restless arm. Two
problems and a picture are enough to see why.
"""

# %%
# Two problems
# ------------
# There is no noise. Arm 0 is rested and pays 1. Arm 1 is restless; it pays 1/2 in the first half of the game and nothing
# afterwards. In the first problem, arm 0 pays for only half as many pulls as there are rounds; in the second, it pays for ever.

import rotting
from rotting.common.display.plots import plot_figure

T = 400
first, second = rotting.theory.unlearnable(T)
for problem in (first, second):
    print([problem.mean(0, T, n) for n in (0, T // 2 - 1, T // 2)], [problem.mean(1, t, 0) for t in (1, T // 2, T // 2 + 1)])

# %%
# In the first problem, the optimal policy pulls arm 1 while it pays, and then arm 0, which still has all its pulls. In the
# second, it always pulls arm 0. Until half-time the two problems pay exactly the same, so a policy has to commit before it can
# know which problem it plays.

played = rotting.theory.play_unlearnable([rotting.RAWUCB(), rotting.UCB1(), rotting.Uniform(), rotting.GreedyOracle()], T)
figure = plot_figure(played.figure())

# %%
# Whatever a policy does, its regret on one of the two problems is at least T/8, however long the game:

print(played.table())

# %%
# What follows
# ------------
# - Know how your arms decay. If all arms are rested, or all are restless, one policy handles both cases.
# - If you have both kinds, no policy has a guarantee. Restless rewards that fall slowly do little harm. Serious harm comes from
#   a rested arm that competes with a restless arm about to lose its value.
# - Knowing all means is not enough either: the greedy oracle, which knows them, loses T/4 on the first problem.
#
# In the paper this is Proposition 1; :doc:`the paper, section by section </paper>` lists two slips in its proof.
