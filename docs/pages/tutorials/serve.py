"""
Serve decisions over HTTP
=========================

``rotting serve`` serves the bandits of one file over HTTP, for programs in other languages or on other machines. This page
starts a service, sends it requests, and stops it.
"""

# %%
# Start
# -----
# In a shell, run ``rotting serve songs.rot``; the address is http://127.0.0.1:8000. This page starts the same command as a
# subprocess on a free port. It needs the extra ``service``.

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
# Send requests
# -------------
# The client has the methods of ``Bandit``. Its requests are plain HTTP and JSON; :doc:`the guide </guides/serving>` sends the
# same requests with ``curl``.

import rotting

client = rotting.Client(url)
client.create("songs", rotting.EffRAWUCB(sigma="estimate"), arms=["jazz", "rock", "folk"])
songs = client.bandit("songs")
decision = songs.decide()
print(decision.arm, songs.reward(decision.id, 1.0))

# %%
# A listener's page shows two songs at once. A second reward for the same decision counts as a duplicate, so a client that got
# no response may send the reward again.

page = songs.decide(count=2)
print([each.arm for each in page])
print(songs.reward_many([(each.id, 0.5) for each in page]), songs.reward(page[0].id, 0.5))

# %%
# Look at the bandits
# -------------------
# Open the address in a browser: a dashboard shows which arms are chosen, why, and which arms wear out. Other programs can read
# the same information as JSON.

print(songs.explain())

# %%
# Stop
# ----
# On ``SIGTERM`` the service finishes running requests and saves its state. The file then contains every change that was
# acknowledged.

client.close()
service.terminate()
service.wait()
service.stderr.close()
with rotting.open(folder / "songs.rot", name="songs") as bandit:
    print(bandit.rounds, bandit.arms)

# %%
# :doc:`The guide </guides/serving>` covers tokens, limits, containers, what a response guarantees, and what to do when one
# process is not enough.
