"""The process: it starts, ends in order, shares its store with others, and loses nothing when it is killed.

`ROTTING_STRESS=1` kills 200 times.
"""

import json
import random
import signal
import threading
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from rotting.cli import main
from rotting.errors import InvalidValueError
from rotting.server.http.admission import is_loopback
from rotting.server.http.server import ServerSettings, bind_socket, check_settings
from rotting.server.http.service import ServiceOptions
from rotting.server.store.database import open_database
from rotting.server.store.events import decode, new_record
from tests.conftest import STRESS
from tests.helpers.command import run_command
from tests.helpers.ports import free_port
from tests.helpers.services import SONGS, Client, service_process, wait_for_line

KILLS = 200 if STRESS else 3
BANDIT = "/v1/bandits/songs"


def test_a_service_starts_and_ends_in_order(place: str) -> None:
    port = free_port()
    with service_process(place, port, "--compile", "never") as running:
        assert f"at http://127.0.0.1:{port}, without tokens" in wait_for_line(running, "serving 0 bandits of")
        client = Client(port)
        client("PUT", BANDIT, SONGS)
        assert client("POST", f"{BANDIT}/decisions").status == 200
        third = run_command("serve", place, "--port", str(port))
        message = f"rotting: error: port must be free, got {port} of 127.0.0.1: Address already in use\n"
        assert (third.returncode, third.stderr) == (2, message)
        running.terminate()
        wait_for_line(running, "SIGTERM: finishing running requests")
        assert running.wait(30) == 0
        client.close()
    with service_process(place, port, "--compile", "never") as running:
        wait_for_line(running, "serving 1 bandits")


def test_a_bandit_with_a_policy_of_another_version_does_not_stop_the_others(place: str) -> None:
    database = open_database(place)
    with database.transaction() as transaction:
        transaction.create(new_record("newer", {"policy": {"policy": "of-tomorrow", "params": {}}, "arms": ["a"], "seed": 0}))
    database.close()
    port = free_port()
    with service_process(place, port, "--compile", "never") as running:
        wait_for_line(running, "bandits of a policy that is not known here cannot be used: policy must be one of")
        wait_for_line(running, "serving 1 bandits")
        client = Client(port)
        assert client("PUT", BANDIT, SONGS).status == 201
        assert client("POST", f"{BANDIT}/decisions").status == 200
        client.close()


def test_two_services_share_a_store(place: str) -> None:
    ports = [free_port(), free_port()]
    with (
        service_process(place, ports[0], "--compile", "never") as one,
        service_process(place, ports[1], "--compile", "never") as two,
    ):
        for each in (one, two):
            wait_for_line(each, "serving")
        clients = [Client(port) for port in ports]
        assert clients[0]("PUT", BANDIT, SONGS).status == 201
        assert clients[1]("PUT", BANDIT, SONGS).status == 200
        for k in range(20):
            (made,) = clients[k % 2]("POST", f"{BANDIT}/decisions", {"idempotency_key": f"{k}"}).body["decisions"]
            assert made["round"] == k + 1
            (again,) = clients[1 - k % 2]("POST", f"{BANDIT}/decisions", {"idempotency_key": f"{k}"}).body["decisions"]
            assert again == made
            outcomes = [each("POST", f"{BANDIT}/rewards", [{"id": made["id"], "reward": 0.5}]) for each in clients]
            assert [each.body["results"][0]["outcome"] for each in outcomes] == ["applied", "duplicate"]
        assert clients[0]("GET", f"{BANDIT}/explain").body == clients[1]("GET", f"{BANDIT}/explain").body
        for client in clients:
            client.close()


def test_running_requests_are_answered_before_shutdown(tmp_path: Path) -> None:
    path, port = tmp_path / "songs.rot", free_port()
    with service_process(path, port, "--compile", "never") as running:
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
    assert len(_events(str(path))) == len(statuses)  # all that was decided was told


def _events(place: str) -> list[dict[str, Any]]:
    database = open_database(place, readonly=True)
    record, found = database.find("songs"), list[dict[str, Any]]()
    assert record is not None
    while events := database.events(record, len(found) + 1):
        found += [decode(each.payload) for each in events]
    database.close()
    return found


def test_a_service_stops_cleanly_when_its_output_is_not_read(tmp_path: Path) -> None:
    with service_process(tmp_path / "songs.rot", free_port()) as running:
        wait_for_line(running, "serving")
        assert running.stderr is not None
        running.stderr.close()
        running.send_signal(signal.SIGINT)  # as the other signal
        assert running.wait(30) == 0


def test_each_request_has_a_line_in_the_access_log(tmp_path: Path) -> None:
    with service_process(tmp_path / "songs.rot", port := free_port(), "--access-log") as running:
        wait_for_line(running, "serving")
        client = Client(port)
        assert client("GET", "/livez").status == 200
        wait_for_line(running, '"GET /livez HTTP/1.1" 200')
        client.close()


def test_a_killed_service_loses_and_repeats_no_event(place: str) -> None:
    port, chance = free_port(), random.Random(11)
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
            with service_process(place, port, "--compile", "never") as running:
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
    verified = run_command("verify", place)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "and all choices are the same when they are made again" in verified.stdout
    payloads = _events(place)
    ids = Counter(each["id"] for each in payloads if each["event"] == "decided")
    assert set(ids.values()) == {1}
    database = open_database(place, readonly=True)
    record = database.find("songs")
    assert record is not None
    answers: dict[str, list[str]] = {}
    after = ""
    while keys := database.keys(record, after):
        answers |= {each.key: [made["id"] for made in decode(each.answer)["decisions"]] for each in keys}
        after = keys[-1].key
    database.close()
    assert decided.items() <= answers.items()
    assert {each for found in answers.values() for each in found} == set(ids)
    counts = Counter(each["id"] for each in payloads if each["event"] == "rewarded")
    assert set(counts.values()) == {1}
    learned = {each["id"]: each["reward"] for each in payloads if each["event"] == "rewarded"}
    assert rewarded.items() <= learned.items()


def test_the_command_line_has_the_defaults_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[ServerSettings, ServiceOptions]] = []
    monkeypatch.setattr(
        "rotting.server.http.server.serve", lambda store, settings, options, say: served.append((settings, options))
    )
    assert main(["serve", "songs.rot"]) == 0
    assert served == [(ServerSettings(), ServiceOptions())]


def test_serve_check_says_whether_a_store_can_be_served(tmp_path: Path) -> None:
    path = str(tmp_path / "songs.rot")
    missing = run_command("serve", path, "--check")
    assert (missing.returncode, missing.stderr) == (2, f"rotting: error: no such store: {path}\n")
    open_database(path).close()
    done = run_command("serve", path, "--check")
    assert (done.returncode, done.stderr) == (0, f"{path} can be served: 0 bandits\n")


def test_a_bind_to_other_machines_needs_tokens() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine alone.*got '"):
            check_settings(ServerSettings(host=host), ServiceOptions())
    with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine, got '127.0.0.1.invalid': "):
        bind_socket("127.0.0.1.invalid", 0)
    with pytest.raises(InvalidValueError, match=r"^host must be an address of this machine, got '192.0.2.1': "):
        bind_socket("192.0.2.1", 0)  # an address that nobody has
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert is_loopback(host)
