"""
The index over time
===================

One run of RAW-UCB: the arms that it pulls, the indices by which it chooses, and the true means, which it does not see.
"""

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=1_000)
game = rotting.play(rotting.RAWUCB(), problem, run=1)
figure = game.plot()
