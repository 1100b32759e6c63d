"""The process: it starts, refuses a second one, ends in order, and loses nothing when it is killed.

`ROTTING_STRESS=1` kills 200 times.
"""

import inspect
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from rotting.cli import main
from rotting.errors import InvalidValueError
from rotting.service.admission import is_loopback
from rotting.service.application import Application
from rotting.service.server import Service, ServiceSettings, bind_sockets
from rotting.store.sqlite import SQLiteStore
from tests.conftest import STRESS
from tests.helpers.command import run_command
from tests.helpers.services import SONGS, Client, free_port, service_process, wait_for_line
from tests.helpers.stores import newest_snapshot
from tests.helpers.windows_rules import windows_rules

KILLS = 200 if STRESS else 4
BANDIT = "/v1/bandits/songs"


def test_a_service_starts_and_ends_in_order(tmp_path: Path) -> None:
    path, port = tmp_path / "songs.rot", free_port()
    with service_process(path, port) as running:
        assert f"serving 0 bandits of {path} at http://127.0.0.1:{port}, without tokens" in wait_for_line(running, "serving")
        client = Client(port)
        client("PUT", BANDIT, SONGS)
        assert "ucb1" in wait_for_line(running, "compiled")  # who made the first one waited for it
        assert client("POST", f"{BANDIT}/decisions").status == 200
        second = run_command("serve", str(path), "--port", "0")
        assert (second.returncode, second.stderr) == (2, f"rotting: error: {path} is locked: another writer has it\n")
        third = run_command("serve", str(tmp_path / "other.rot"), "--port", str(port))
        message = f"rotting: error: port must be free, got {port} of 127.0.0.1: Address already in use\n"
        assert (third.returncode, third.stderr) == (2, message)
        assert not (tmp_path / "other.rot").exists()
        running.terminate()
        wait_for_line(running, "SIGTERM: finishing running requests, then saving")
        wait_for_line(running, f"saved {path}")
        assert running.wait(30) == 0
        client.close()
    with SQLiteStore(path, readonly=True) as store:
        snapshot = newest_snapshot(store, "songs")
        assert snapshot is not None
        assert snapshot.number == store.last == 1
    with service_process(path, port) as running:
        assert "ucb1" in wait_for_line(running, "compiled")
        wait_for_line(running, "serving 1 bandits")


def test_running_requests_are_answered_before_shutdown(tmp_path: Path) -> None:
    path, port = tmp_path / "songs.rot", free_port()
    with service_process(path, port) as running:
        wait_for_line(running, "serving")
        first = Client(port)
        first("PUT", BANDIT, SONGS)
        first.close()
        statuses: list[int] = []

        def decide() -> None:
            client = Client(port)
            try:
                while client("POST", f"{BANDIT}/decisions").status == 200:
                    statuses.append(1)
            except (OSError, HTTPException):
                pass
            finally:
                client.close()

        threads = [threading.Thread(target=decide) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(statuses) < 50:
            time.sleep(0.01)
        running.terminate()
        assert running.wait(30) == 0
        for thread in threads:
            thread.join()
    with SQLiteStore(path, readonly=True) as store:
        assert store.last == len(statuses)  # all that was decided was told


_SET_BACK = """
import signal, sys, time
real, back = time.time, [0.0]
time.time = lambda: real() - back[0]
signal.signal(signal.SIGUSR1, lambda *_: back.__setitem__(0, 1e7))
from rotting.cli.command_line import main
main(sys.argv[1:])
"""


def test_a_clock_that_is_set_back_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with service_process(path, 0, "--rate", "1000", program=("-c", _SET_BACK)) as running:
        client = Client(int(wait_for_line(running, "serving").partition("http://127.0.0.1:")[2].partition(",")[0]))
        client("PUT", BANDIT, SONGS)
        made = [client("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}).body["decisions"][0]]
        before = parsedate_to_datetime(client("GET", "/livez").headers["date"])
        running.send_signal(signal.SIGUSR1)
        while parsedate_to_datetime(client("GET", "/livez").headers["date"]) > before - timedelta(days=100):
            time.sleep(0.02)
        assert client("POST", f"{BANDIT}/decisions", {"idempotency_key": "k"}).body["decisions"] == made
        for _ in range(20):
            response = client("POST", f"{BANDIT}/decisions")
            assert response.status == 200, response
            made += response.body["decisions"]
        rewards = [{"id": each["id"], "reward": 0.5} for each in made[1:]]
        outcomes = [each["outcome"] for each in client("POST", f"{BANDIT}/rewards", rewards).body["results"]]
        assert outcomes == ["applied"] * 20
        assert client("GET", f"{BANDIT}/history").body["totals"]["rewards"] == 20
        counted = dict(line.rsplit(" ", 1) for line in client("GET", "/metrics").body.decode().splitlines() if line[0] != "#")
        assert 0.0 <= float(counted['rotting_pending_oldest_seconds{bandit="songs"}']) < 1e6
        assert float(counted['rotting_reward_mean{bandit="songs",hour="last"}']) == 0.5
        assert float(counted["rotting_commit_seconds_sum"]) >= 0.0
        running.terminate()
        assert running.wait(30) == 0
        client.close()
    assert run_command("log", str(path), "--verify").returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has its rules already")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_starts_and_ends_under_the_rules_of_windows(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its event loop has no handlers of signals there."""
    for name, value in windows_rules(tmp_path / "rules").items():
        monkeypatch.setenv(name, value)
    path, port = tmp_path / "songs.rot", free_port()
    program = (
        "import sys, numpy, numba, uvicorn; sys.platform = 'win32'; import rotting.cli as c; sys.exit(c.main(sys.argv[1:]))"
    )
    with service_process(path, port, "--compile", "never", program=("-c", program)) as running:
        wait_for_line(running, "serving")
        client = Client(port)
        client("PUT", BANDIT, SONGS)
        assert client("POST", f"{BANDIT}/decisions").status == 200
        client.close()
        running.send_signal(number)
        wait_for_line(running, f"{number.name}: finishing running requests, then saving")
        wait_for_line(running, f"saved {path}")
        assert running.wait(30) == 0


def test_a_service_stops_cleanly_when_its_output_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with service_process(path, free_port()) as running:
        wait_for_line(running, "serving")
        assert running.stderr is not None
        running.stderr.close()
        running.send_signal(signal.SIGINT)  # as the other signal
        assert running.wait(30) == 0
    with SQLiteStore(path) as store:
        assert store.last == 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_sighup_begins_a_new_access_log_and_ends_nothing(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with service_process(tmp_path / "songs.rot", port := free_port(), "--access-log", str(log)) as running:
        wait_for_line(running, "serving")
        client = Client(port)
        log.rename(tmp_path / "access.log.1")
        running.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30.0
        while not log.exists():
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert client("GET", "/livez").status == 200
        client.close()


def test_a_killed_service_loses_and_repeats_no_event(tmp_path: Path) -> None:
    path, port, chance = tmp_path / "songs.rot", free_port(), random.Random(11)
    stop, decided, rewarded = threading.Event(), {}, {}
    reward_outcomes: list[str] = []  # outcomes; to append is safe among threads

    def call(client: list[Client], method: str, target: str, body: Any) -> Any:
        """Ask until there is an answer; None if the test ends first."""
        while not stop.is_set():
            try:
                response = client[0](method, target, body)
            except (OSError, HTTPException, json.JSONDecodeError):
                client[0].close()
                client[0] = Client(port)
                time.sleep(0.02)
                continue
            assert response.status == 200, response
            return response.body
        return None

    def work(number: int) -> None:
        client, k = [Client(port)], 0
        while not stop.is_set():
            k += 1
            key = f"{number}-{k}"
            response = call(client, "POST", f"{BANDIT}/decisions", {"idempotency_key": key, "count": 1 + k % 2})
            if response is None:
                break
            decided[key] = [each["id"] for each in response["decisions"]]
            rewards = [{"id": each, "reward": (number + k) % 3 / 2} for each in decided[key]]
            response = call(client, "POST", f"{BANDIT}/rewards", rewards)
            if response is None:
                break
            for reward, result in zip(rewards, response["results"], strict=True):
                reward_outcomes.append(result["outcome"])
                rewarded[reward["id"]] = reward["reward"]
        client[0].close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    try:
        for kill in range(KILLS):
            with service_process(path, port) as running:
                wait_for_line(running, "serving")
                if kill == 0:
                    client = Client(port)
                    assert client("PUT", BANDIT, {**SONGS, "max_pending": 100_000}).status == 201
                    client.close()
                    for thread in threads:
                        thread.start()
                before = len(rewarded)
                while len(rewarded) < before + chance.randrange(20, 120):
                    assert all(thread.is_alive() for thread in threads)
                    time.sleep(0.001)
                running.kill()
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    outcomes = Counter(reward_outcomes)
    assert set(outcomes) <= {"applied", "duplicate"}
    # A kill can take the replies of six workers, two rewards each, which then hear that these are duplicates.
    assert outcomes["duplicate"] <= 6 * 2 * KILLS
    assert len(rewarded) >= 20 * KILLS
    verified = run_command("log", str(path), "--verify")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "and all choices are the same when replayed" in verified.stdout
    with SQLiteStore(path, readonly=True) as store:
        payloads = [event.payload for event in store.read("songs")]
    ids = Counter(each["id"] for each in payloads if each.get("event") == "decided")
    assert set(ids.values()) == {1}
    noted = {each["note"]: json.loads(each["answer"])["decisions"] for each in payloads if "note" in each}
    keys = {key: [made["id"] for made in decisions] for key, decisions in noted.items()}
    assert len(keys) == sum("note" in each for each in payloads)  # no key twice
    assert {f"key:{key}": found for key, found in decided.items()}.items() <= keys.items()
    assert {each for found in decided.values() for each in found} <= set(ids)
    counts = Counter(each["id"] for each in payloads if each.get("event") == "rewarded")
    assert set(counts.values()) == {1}
    learned = {each["id"]: each["reward"] for each in payloads if each.get("event") == "rewarded"}
    assert rewarded.items() <= learned.items()


def test_the_command_line_and_the_application_have_the_defaults_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[ServiceSettings] = []
    monkeypatch.setattr("rotting.service.server.serve", lambda path, settings, say: served.append(settings))
    assert main(["serve", "songs.rot"]) == 0
    assert served == [ServiceSettings()]
    defaults = {
        name: each.default
        for name, each in inspect.signature(Application).parameters.items()
        if name in ServiceSettings._fields
    }
    assert len(defaults) > 5
    assert defaults == {name: getattr(ServiceSettings(), name) for name in defaults}


def test_a_bind_to_other_machines_needs_tokens(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine alone.*got '"):
            Service(tmp_path / "songs.rot", ServiceSettings(host=host), print)
    with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine, got '127.0.0.1.invalid': "):
        bind_sockets("127.0.0.1.invalid", 0)
    with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine, got '192.0.2.1': "):
        bind_sockets("192.0.2.1", 0)  # an address that nobody has
    assert list(tmp_path.iterdir()) == []
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert is_loopback(host)
