"""
Nights of news
==============

Click rates of the articles of a synthetic night, drawn to resemble Yahoo!'s front page, and the regret of three policies.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.datasets.synthetic_nights()[2].problem()
policies = [rotting.EffRAWUCB(sigma=0.29**0.5), rotting.EffFEWA(alpha=0.06, sigma=0.29**0.5), rotting.UCB1(sigma=0.29**0.5)]
rounds = np.linspace(1, problem.horizon, 200).astype(int)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for i in range(problem.n_arms):
    left.plot(rounds, [problem.mean(i, int(t), 0) for t in rounds], lw=1)
left.set(xlabel="round t", ylabel="clicks in ten displays")
names = ["EFF-RAW-UCB", "EFF-FEWA", "UCB1"]
axes = rotting.simulate(policies, problem, runs=10).plot(ax=right, title="regret", labels=names)
for each in (left, right):
    each.set_xticks([0, 50_000, 100_000, 150_000], ["0", "50,000", "100,000", "150,000"])
