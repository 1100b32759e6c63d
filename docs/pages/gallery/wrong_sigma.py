"""
A wrong sigma
=============

RAW-UCB needs the scale of the noise. A sigma that is too small is risky, and one that is too large explores for too long.
With an estimate you do not have to set it.
"""

import matplotlib.pyplot as plt
import numpy as np

import rotting

problem = rotting.problems.two_arms(L=1.0, horizon=2_000, sigma=1.0)
sigmas = np.array([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
policies = [*rotting.grid(rotting.RAWUCB, sigma=sigmas.tolist()), rotting.RAWUCB(sigma="estimate")]
regret = rotting.simulate(policies, problem, runs=100).regret[:, :, -1].mean(axis=1)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.semilogx(sigmas, regret[:-1], "o-", label="fixed sigma")
axes.axhline(regret[-1], ls="--", color="C1", label="estimated sigma")
axes.set(xlabel="sigma given to RAW-UCB; the true value is 1", ylabel="regret")
axes.legend(frameon=False)
