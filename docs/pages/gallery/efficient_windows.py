"""
Exact and efficient windows
===========================

The windows that RAW-UCB and EFF-RAW-UCB choose for the same arm. RAW-UCB considers all lengths. EFF-RAW-UCB with m = 2
considers powers of two and updates these windows with a delay.
"""

import matplotlib.pyplot as plt

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=600)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for policy in (rotting.RAWUCB(), rotting.EffRAWUCB(m=2)):
    game = rotting.play(policy, problem, run=0)
    axes.plot(game.window[:, 0], lw=1, label=game.policy.label)
axes.set(xlabel="round t", ylabel="window of arm 0")
axes.legend(frameon=False)
