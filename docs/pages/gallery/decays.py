"""
Shapes of decay
===============

How the mean of an arm can fall, over its pulls or over the rounds.
"""

import matplotlib.pyplot as plt

from rotting.problems import Abrupt, Exponential, Linear, Logistic, Problem

shapes = [Abrupt(0.9, 0.3, at=60), Exponential(0.8, rate=0.02), Linear(1.0, slope=-0.004), Logistic(0.7, 0.1, at=120, width=10)]
problem = Problem.rested(shapes, horizon=200)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for i, shape in enumerate(shapes):
    axes.plot([problem.mean(i, n + 1, n) for n in range(200)], label=type(shape).__name__)
axes.set(xlabel="pulls, or rounds", ylabel="mean")
axes.legend(frameon=False)
