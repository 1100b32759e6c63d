"""
A wrong sigma
=============

RAW-UCB is told the scale of the noise. Too small is a gamble, too large is slow; an estimate needs to be told nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=2_000, sigma=1.0)
sigmas = np.array([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
policies = [*rotting.grid(rotting.RAWUCB, sigma=sigmas.tolist()), rotting.RAWUCB(sigma="estimate")]
regret = rotting.simulate(policies, problem, runs=100).regret[:, :, -1].mean(axis=1)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.semilogx(sigmas, regret[:-1], "o-", label="sigma as told")
axes.axhline(regret[-1], ls="--", color="C1", label="sigma estimated")
axes.set(xlabel="sigma that RAW-UCB is told; the true one is 1", ylabel="regret")
axes.legend(frameon=False)
