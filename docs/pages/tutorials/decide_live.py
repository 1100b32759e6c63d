"""
Decide live
===========

A bandit in your program: it chooses, you tell it what came of it. Arms come and go, rewards come late or never, and nothing
is lost when the process ends.
"""

# %%
# A first decision
# ----------------
# ``sigma="estimate"`` learns the scale of the noise, so you need not know it. The bandit compiles its policy when it is made.

import rotting

bandit = rotting.Bandit(rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock"], seed=0)
song = bandit.pull()
bandit.update(song, 1.0)
song

# %%
# Listeners who get bored
# -----------------------
# Jazz is liked more, but only for its first 30 plays. Let two hundred listeners come.

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
# Why?
# ----
# The arm with the largest index is chosen: the mean of its last rewards, over a window that it chose, plus a width.

print(bandit.explain())

# %%
# Decisions with an id
# --------------------
# Where the reward comes later, or somewhere else, a decision has an id. A reward may come twice, in any order, or never.

first, second = bandit.decide(), bandit.decide()
print(bandit.reward(second.id, 1.0), bandit.reward(second.id, 1.0))
print(bandit.cancel(first.id))  # it was never shown

# %%
# Arms that come and go
# ---------------------
# A new arm is tried at once. A retired one keeps what it learned, and can come back.

bandit.add_arm("folk")
print(bandit.pull())
bandit.update("folk", 0.0)
bandit.retire("rock")
print({bandit.pull() for _ in range(5)} <= {"jazz", "folk"})

# %%
# A file that survives
# --------------------
# ``rotting.open`` makes the same bandit in a file, or resumes it. Each answer is on disk before you have it. It needs the
# extra ``store``.

import tempfile
from pathlib import Path

path = Path(tempfile.mkdtemp()) / "songs.rot"
with rotting.open(path, rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock"]) as songs:
    decision = songs.decide()

with rotting.open(path) as songs:  # another process, another day
    print(songs.reward(decision.id, 1.0), songs.rounds)

# %%
# Where to go on
# --------------
# The guides: :doc:`late rewards </guides/late-rewards>`, :doc:`clicks </guides/clicks>`, :doc:`pages of ten
# </guides/pages-of-ten>`, :doc:`many arms </guides/many-arms>`, :doc:`many processes </guides/many-processes>`, :doc:`backups
# </guides/backup-and-restore>`. :ref:`The next page <sphx_glr_tutorials_serve.py>` puts HTTP in front of the file.
