"""Three servers, a primary with a synchronous standby, and faults in random order: nothing acknowledged is lost or doubled.

Every decision that is made again must be the one in the log, so nobody has decided from a state that was never written.
`ROTTING_STRESS=1` has 200 faults.
"""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any

from rotting.server.store.database import open_database
from rotting.server.store.events import decode
from rotting.server.store.turns import load
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.ports import free_port
from tests.helpers.postgres import FAST, Postgres, shared_folder
from tests.helpers.proxy import Moment, Proxy
from tests.helpers.services import Client

FAULTS = 200 if STRESS else 8
SERVERS, CLIENTS = 3, 6
BANDIT = "/v1/bandits/songs"
SONGS = {"policy": "eff-raw-ucb", "arms": ["jazz", "rock", "folk"], "max_pending": 100_000}


class Servers:
    """Three servers on one database.

    Args:
        folder: gets their logs.
        place: the database.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self.ports = [free_port() for _ in range(SERVERS)]
        self.place = place
        self.logs = [folder / f"server-{k}" for k in range(SERVERS)]
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, k: int) -> None:
        """Start a server; it listens in a moment."""
        command = [sys.executable, "-m", "rotting", "serve", self.place, "--port", str(self.ports[k]), "--compile", "never"]
        with self.logs[k].open("ab") as log:
            self._running[k] = subprocess.Popen(command, stderr=log)

    def wait(self, k: int) -> None:
        """Wait until a server says that decisions can be stored."""
        until = time.monotonic() + 60
        while True:
            client = Client(self.ports[k])
            try:
                if client("GET", "/readyz").status == 200:
                    return
            except (OSError, HTTPException):
                if k in self._running and self._running[k].poll() is not None:  # it found no database
                    self.start(k)
            finally:
                client.close()
            assert time.monotonic() < until, self.logs[k].read_text()
            time.sleep(0.05)

    def send(self, k: int, number: signal.Signals) -> None:
        """Send a signal to a server."""
        self._running[k].send_signal(number)

    def stop(self, k: int, number: signal.Signals) -> None:
        """End a server."""
        if k in self._running:
            self.send(k, number)
            self._running.pop(k).wait(30)

    def close(self) -> None:
        for k in range(SERVERS):
            self.stop(k, signal.SIGKILL)


class Cluster:
    """A primary and its synchronous standby, behind a proxy."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self.primary = Postgres(self._next(), f"{FAST} synchronous_standby_names=*")
        self.primary.create()
        self.primary.start()
        self.standby = self.primary.replicated(self._next())
        self.proxy = Proxy(self.primary.port)
        self.place = f"postgresql://rotting@127.0.0.1:{self.proxy.port}/postgres"

    def _next(self) -> Path:
        self._number += 1
        folder = self._folder / f"postgres-{self._number}"
        folder.mkdir()
        return folder

    def fail_over(self) -> None:
        """Kill the primary, promote the standby, and make a new one."""
        self.primary.send(signal.SIGKILL)
        self.proxy.cut_all()
        self.standby.promote()
        self.primary = self.standby
        self.proxy.target = self.primary.port
        self.proxy.cut_all()
        self.standby = self.primary.replicated(self._next())

    def close(self) -> None:
        self.proxy.close()
        for each in (self.standby, self.primary):
            each.stop()


class Clients:
    """Threads that decide and reward, each time asking some server with the same key until there is an answer."""

    def __init__(self, ports: list[int]) -> None:
        self.decided: dict[str, dict[str, Any]] = {}
        """The answer to each key."""
        self.rewarded: dict[str, float] = {}
        self.outcomes: Counter[str] = Counter()
        self.refused: list[Any] = []
        self._ports, self._stop, self._mutex = ports, threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._work, args=(k,)) for k in range(CLIENTS)]

    def _ask(self, chance: random.Random, path: str, body: Any) -> Any:
        """Ask until there is an answer; None if the test ends first."""
        while not self._stop.is_set():
            client = Client(chance.choice(self._ports), timeout=8.0)
            try:
                response = client("POST", path, body)
            except (OSError, HTTPException, json.JSONDecodeError):
                time.sleep(0.02)
                continue
            finally:
                client.close()
            if response.status == 200:
                return response.body
            if response.status != 503:
                self.refused.append(response)
            time.sleep(0.02)
        return None

    def _work(self, k: int) -> None:
        chance, number = random.Random(k), 0
        while not self._stop.is_set():
            number += 1
            key = f"{k}-{number}"
            answer = self._ask(chance, f"{BANDIT}/decisions", {"idempotency_key": key})
            if answer is None:
                return
            (self.decided[key],) = answer["decisions"]
            id, reward = self.decided[key]["id"], chance.choice([0.0, 0.5, 1.0])
            answer = self._ask(chance, f"{BANDIT}/rewards", [{"id": id, "reward": reward}])
            if answer is None:
                return
            with self._mutex:
                self.outcomes[answer["results"][0]["outcome"]] += 1
            self.rewarded[id] = reward

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def wait(self, more: int) -> None:
        """Wait for more decisions with their rewards."""
        wanted, until = len(self.rewarded) + more, time.monotonic() + 90
        while len(self.rewarded) < wanted:
            assert time.monotonic() < until
            time.sleep(0.02)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()


class Storm:
    """Makes one fault after another."""

    def __init__(self, servers: Servers, cluster: Cluster, chance: random.Random) -> None:
        self._servers, self._cluster, self._chance = servers, cluster, chance
        self.faults = {
            self.kill_a_server: 5,
            self.stop_a_server: 5,
            self.restart_all_servers: 2,
            self.cut_commits: 5,
            self.cut_all_connections: 2,
            self.stop_the_standby: 2,
            self.fail_over: 3,
        }
        """Each kind of fault, and how frequent it is."""

    def kill_a_server(self) -> None:
        k = self._chance.randrange(SERVERS)
        self._servers.stop(k, signal.SIGKILL)
        self._servers.start(k)
        self._servers.wait(k)

    def stop_a_server(self) -> None:
        k = self._chance.randrange(SERVERS)
        self._servers.send(k, signal.SIGSTOP)
        # Sometimes longer than PostgreSQL lets a transaction be idle.
        time.sleep(self._chance.choice([0.1, 0.3, 1.0, 6.0] if STRESS else [0.1, 0.3]))
        self._servers.send(k, signal.SIGCONT)

    def restart_all_servers(self) -> None:
        for k in range(SERVERS):
            self._servers.stop(k, signal.SIGTERM)
            self._servers.start(k)
            self._servers.wait(k)

    def cut_commits(self) -> None:
        moments: tuple[Moment, ...] = ("before", "during", "after")
        self._cluster.proxy.cuts += self._chance.choices(moments, k=5)

    def cut_all_connections(self) -> None:
        self._cluster.proxy.cut_all()

    def stop_the_standby(self) -> None:
        self._cluster.standby.send(signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.1, 1.0))
        self._cluster.standby.send(signal.SIGCONT)

    def fail_over(self) -> None:
        self._cluster.fail_over()


def test_nothing_acknowledged_is_lost_or_doubled_in_a_storm(tmp_path: Path) -> None:
    chance = random.Random(3)
    with ExitStack() as stack:
        cluster = Cluster(stack.enter_context(shared_folder()))
        stack.callback(cluster.close)
        servers = Servers(tmp_path, cluster.place)
        stack.callback(servers.close)
        for k in range(SERVERS):
            servers.start(k)
        for k in range(SERVERS):
            servers.wait(k)
        first = Client(servers.ports[0])
        assert first("PUT", BANDIT, SONGS).status == 201
        first.close()
        clients = Clients(servers.ports)
        stack.callback(clients.stop)
        clients.start()
        clients.wait(50)
        storm = Storm(servers, cluster, chance)
        kinds = list(storm.faults)
        more = chance.choices(kinds, list(storm.faults.values()), k=FAULTS - len(kinds))
        for fault in chance.sample([*kinds, *more], FAULTS):  # each kind at least once
            fault()
            clients.wait(chance.randrange(5, 30))
        clients.stop()
        states = []
        for k in range(SERVERS):
            servers.wait(k)
            client = Client(servers.ports[k])
            states.append(client("GET", f"{BANDIT}/explain").body)
            client.close()
        servers.close()
        check(f"postgresql://rotting@127.0.0.1:{cluster.primary.port}/postgres", clients)
        assert states[1:] == states[:1] * (SERVERS - 1)
    for log in servers.logs:
        assert "Traceback" not in log.read_text()
    print(f"{FAULTS} faults, {len(clients.rewarded)} decisions with rewards, {dict(clients.outcomes)}")


def check(place: str, clients: Clients) -> None:
    """Compare the log with what the clients were told."""
    assert clients.refused == []
    assert set(clients.outcomes) <= {"applied", "duplicate"}
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    events, number = [], 0
    while some := database.events(record, number + 1):
        events += [decode(each.payload) for each in some]
        number = some[-1].number
    assert number == len(events)
    decided = {each["id"]: each for each in events if each["event"] == "decided"}
    assert [each["round"] for each in decided.values()] == list(range(1, len(decided) + 1))
    answers, after = dict[str, Any](), ""
    while keys := database.keys(record, after):
        answers |= {each.key: decode(each.answer)["decisions"][0] for each in keys}
        after = keys[-1].key
    assert {each["id"] for each in answers.values()} == set(decided)  # one decision for each key
    for key, answer in clients.decided.items():
        assert answers[key] == answer
        assert (decided[answer["id"]]["arm"], decided[answer["id"]]["round"]) == (answer["arm"], answer["round"])
    rewards = [(each["id"], each["reward"]) for each in events if each["event"] == "rewarded"]
    assert len(dict(rewards)) == len(rewards)
    assert clients.rewarded.items() <= dict(rewards).items()
    found = verify(database)
    assert (found.problems, found.notes) == ((), ())
    assert load(database, record).number == number
    database.close()
