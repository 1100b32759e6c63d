"""
Serve decisions over HTTP
=========================

``rotting serve`` puts HTTP in front of the bandits of one file, for programs that are not in Python, or run elsewhere. This
page starts a service, asks it, and stops it.
"""

# %%
# Start
# -----
# In a shell it is one line, ``rotting serve songs.rot``, and the address is http://127.0.0.1:8000. Here the same is started as
# a process, at a port that is free. It needs the extra ``service``.

import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
command = [sys.executable, "-m", "rotting", "serve", str(folder / "songs.rot"), "--port", "0"]
service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
line = next(line for line in service.stderr if "http://" in line)
url = "http://" + line.split("http://")[1].split(",")[0].strip()
print(url.rpartition(":")[0])

# %%
# Ask
# ---
# The client has the verbs of ``Bandit``. What it asks is plain HTTP and JSON; :doc:`the guide </guides/serving>` does the
# same with ``curl``.

import rotting

client = rotting.Client(url)
client.create("songs", rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock", "folk"])
songs = client.bandit("songs")
decision = songs.decide()
print(decision.arm, songs.reward(decision.id, 1.0))

# %%
# A listener's page shows two songs at once. The second reward that is sent for a decision counts as a duplicate, so a client
# that got no answer may send it again.

page = songs.decide(count=2)
print([each.arm for each in page])
print(songs.reward_many([(each.id, 0.5) for each in page]), songs.reward(page[0].id, 0.5))

# %%
# Look
# ----
# Open the address in a browser: a dashboard shows what is chosen, why, and which arms wear out. Other programs read the same
# as JSON.

print(songs.explain())

# %%
# Stop
# ----
# ``SIGTERM`` lets requests under way finish, and saves. The file then holds all that was answered.

client.close()
service.terminate()
service.wait()
service.stderr.close()
with rotting.open(folder / "songs.rot", name="songs") as bandit:
    print(bandit.rounds, bandit.arms)

# %%
# Tokens, limits, containers, what an answer promises, and what to do when one process is not enough: :doc:`the guide
# </guides/serving>`.
