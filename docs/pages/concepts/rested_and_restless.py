"""
Rested and restless
===================

An arm can wear out with its own pulls, with time, or with both. A policy sees only rewards and cannot tell which.
"""

# %%
# Two clocks
# ----------
# The clock of a *rested* arm advances when the arm is pulled: a song, a joke, a battery. While the arm rests, nothing changes.
# The clock of a *restless* arm advances in every round: news, fashion, a season. The mean of arm ``i`` in round ``t`` after
# ``n`` pulls is ``mu_i(t, n)``; for a rested arm it does not depend on ``t``, for a restless arm it does not depend on ``n``.

import matplotlib.pyplot as plt

import rotting
from rotting.problems import Exponential, Problem, Rested, Restless

song, news = Rested(Exponential(1.0, rate=0.01)), Restless(Exponential(1.0, rate=0.01))
steady = Rested(0.5)
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True, layout="constrained")
for ax, arm, title in zip(axes, (song, news), ("rested", "restless"), strict=True):
    game = rotting.play(rotting.RAWUCB(sigma=0.1), Problem([steady, arm], rotting.Gaussian(0.1), horizon=400))
    ax.plot(game.means, label=["steady", "wears out"])
    ax.set_title(f"{title}: {game.pulls[1]} pulls of the second arm", loc="left")
    ax.set(xlabel="round t", ylabel="mean")
axes[0].legend(frameon=False)

# %%
# The same policy plays both problems. On the left, the arm loses value while it is pulled and keeps its value otherwise: the
# later steps are pulls that check on it. On the right, the arm keeps losing value whether it is pulled or not.
#
# One policy for both
# -------------------
# This is the main result of the paper: RAW-UCB has nearly optimal regret on problems whose arms are all rested, and on problems
# whose arms are all restless, without being told which. It needs one assumption: means never rise.

problem = Problem([steady, song], rotting.Gaussian(0.1), horizon=400)
print(problem.kind, bool(problem.is_rotting()))

# %%
# Problems with both kinds of arms are different: see :ref:`what cannot be learned
# <sphx_glr_concepts_what_cannot_be_learned.py>`.
