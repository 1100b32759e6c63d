"""
Heavy tails
===========

The theorems assume sub-Gaussian noise. This figure shows the regret of RAW-UCB when the tails are heavier, with the same
standard deviation: a single very low reward forms a window of its own, so RAW-UCB may abandon a good arm for a long time.
"""

import matplotlib.pyplot as plt

import rotting

noises = [rotting.Gaussian(1.0), rotting.Laplace(0.5**0.5), rotting.Student(3.0, 3**-0.5)]
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for noise in noises:
    problem = rotting.Problem(rotting.problems.two_arms(L=1.0, horizon=2_000).arms, noise=noise, horizon=2_000)
    result = rotting.simulate(rotting.RAWUCB(), problem, runs=100)
    axes.plot(result.checkpoints, result.regret[0].mean(axis=0), label=type(noise).__name__)
axes.set(xlabel="round t", ylabel="regret")
axes.legend(frameon=False)
