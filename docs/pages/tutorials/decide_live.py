"""
Decide live
===========

Use a bandit in your program: it chooses an arm, and you report the reward. You can add and remove arms, rewards may come late
or never, and nothing is lost when the process ends.
"""

# %%
# A first decision
# ----------------
# ``sigma="estimate"`` learns the scale of the noise, so you do not have to know it. The bandit decides at once, while
# a child process compiles its policy.

import rotting

bandit = rotting.Bandit(rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock"], seed=0)
song = bandit.pull()
bandit.update(song, 1.0)
song

# %%
# Listeners who get bored
# -----------------------
# Listeners like jazz more, but only for its first 30 plays. Simulate two hundred listeners:

import numpy as np

rng = np.random.default_rng(1)
plays = {"jazz": 0, "rock": 0}
history = []
for _ in range(200):
    song = bandit.pull()
    plays[song] += 1
    liking = 0.6 if song == "rock" else 0.9 if plays["jazz"] <= 30 else 0.3
    bandit.update(song, float(rng.random() < liking))
    history.append(dict(plays))

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for song in plays:
    axes.plot([each[song] for each in history], label=song)
axes.set(xlabel="listener", ylabel="plays so far")
axes.legend(frameon=False)

# %%
# Why was an arm chosen?
# ----------------------
# The bandit chooses the arm with the largest index: the mean of the arm's last rewards, over a window that the policy selects,
# plus a width.

print(bandit.explain())

# %%
# Decisions with an id
# --------------------
# If the reward arrives later or in another part of your program, use a decision with an id. Rewards may arrive twice, in any
# order, or never.

first, second = bandit.decide(), bandit.decide()
print(bandit.reward(second.id, 1.0), bandit.reward(second.id, 1.0))
print(bandit.cancel(first.id))  # it was never shown

# %%
# Arms that come and go
# ---------------------
# A new arm is tried at once. For a retired arm, the bandit remembers what it learned, so the arm can come back.

bandit.add_arm("folk")
print(bandit.pull())
bandit.update("folk", 0.0)
bandit.retire("rock")
print({bandit.pull() for _ in range(5)} <= {"jazz", "folk"})

# %%
# A bandit in a file
# ------------------
# ``rotting.open`` creates the same kind of bandit in a file, or resumes it. Each decision and reward is on disk before the call
# returns. It needs the extra ``store``.

import tempfile
from pathlib import Path

path = Path(tempfile.mkdtemp()) / "songs.rot"
with rotting.open(path, rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock"]) as songs:
    decision = songs.decide()

with rotting.open(path) as songs:  # another process, another day
    print(songs.reward(decision.id, 1.0), songs.rounds)

# %%
# Next steps
# ----------
# The guides cover :doc:`late rewards </guides/late-rewards>`, :doc:`clicks </guides/clicks>`, :doc:`pages of ten
# </guides/pages-of-ten>`, :doc:`many arms </guides/many-arms>`, :doc:`many processes </guides/many-processes>` and
# :doc:`backups </guides/operating>`. :ref:`The next tutorial <sphx_glr_tutorials_serve.py>` serves the bandits of a
# file over HTTP.
