"""
What cannot be learned
======================

RAW-UCB learns rested problems and restless problems. Nobody can learn all problems with a rested *and* a restless arm. Two of
them, and a picture, are enough to see why.
"""

# %%
# Two problems
# ------------
# There is no noise. Arm 0 is rested and pays 1; arm 1 is restless, pays 1/2 in the first half of the game, and nothing after
# it. In the first problem arm 0 pays for half of the rounds only, in the second for ever.

import rotting
from rotting.display.plots import plot_figure

T = 400
first, second = rotting.theory.unlearnable(T)
for problem in (first, second):
    print([problem.mean(0, T, n) for n in (0, T // 2 - 1, T // 2)], [problem.mean(1, t, 0) for t in (1, T // 2, T // 2 + 1)])

# %%
# In the first problem the best player takes arm 1 while it pays, and arm 0 afterwards, when it still has all its pulls. In
# the second he always takes arm 0. Until half-time the two problems pay exactly the same. A player must decide before he can
# know.

played = rotting.theory.play_unlearnable([rotting.RAWUCB(), rotting.UCB1(), rotting.Uniform(), rotting.GreedyOracle()], T)
figure = plot_figure(played.figure())

# %%
# Whatever he does, on one of the two problems he loses at least T/8, however long the game:

print(played.table())

# %%
# What follows
# ------------
# - Know your clock. If all arms are rested, or all are restless, one policy does for both.
# - If you have both, no policy has a guarantee. Restless rewards that fall slowly do little harm; a rested arm that competes
#   with one
#   that will be gone tomorrow does.
# - Even knowing all means is not enough: the greedy oracle loses T/4 on the first problem.
#
# In the paper this is Proposition 1; :doc:`the paper, section by section </paper>` has two slips of its proof.
