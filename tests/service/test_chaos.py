"""Services that are killed, stopped on a slow disk, robbed of their files and replaced, under random load from four processes.

Every acknowledged call must be found once, and `rotting log FILE --verify` must be clean; or the service must refuse to go on
and say why. `ROTTING_STRESS=1` does it 200 times, and 50 times each.
"""

import random
import time
from pathlib import Path

import pytest

from tests.conftest import STRESS
from tests.helpers.chaos import Load, ServiceProcess, repeat_keys, set_disk, wait_for
from tests.helpers.chaos_audit import Call, acknowledged, check, check_or_refused
from tests.helpers.chaos_files import LOSSES, WAL_DAMAGES, content
from tests.helpers.command import run_command
from tests.helpers.services import free_port

KILLS = 200 if STRESS else 4
STOPS = 50 if STRESS else 3
LOSSES_OF_EACH = 5 if STRESS else 1
STALE_WRITERS = 50 if STRESS else 2
NOTICED = 20.0  # seconds in which a lost store must be noticed; far more than the service takes on an idle machine
FEW_LOSSES = (
    "all files removed",
    "store removed, WAL left",
    "store truncated",
    "replaced by an older backup",
    "folder replaced by an empty one",
)
BANDITS = ["x", "y", "z"]


def finish(path: Path, port: int, calls: list[Call]) -> None:
    """Check a store after the chaos: it serves, it stops in order, and it has everything that was acknowledged."""
    with ServiceProcess(path, port) as service:
        service.wait_until_ready()
        for bandit in BANDITS:
            status, body = service.call("POST", f"/v1/bandits/{bandit}/decisions")
            assert status == 200, (body, service.output)
        repeat_keys(service, calls)
        service.stop()
    check(path, calls)


def test_killed_services_lose_and_repeat_nothing(tmp_path: Path) -> None:
    path, port, chance = tmp_path / "songs.rot", free_port(), random.Random(25)
    with Load(port, tmp_path / "journals", BANDITS, seed=25) as load:
        for _ in range(KILLS):
            with ServiceProcess(path, port) as service:
                service.wait_until_ready()
                load.wait_for_calls(chance.randrange(20, 200))
                service.kill()
        load.stop()
        finish(path, port, load.calls)
    assert len(acknowledged(load.calls)) > 20 * KILLS


@pytest.mark.slow
def test_services_that_are_stopped_on_a_slow_disk_lose_and_repeat_nothing(tmp_path: Path) -> None:
    path, port, chance, disk = tmp_path / "songs.rot", free_port(), random.Random(26), tmp_path / "disk.json"
    endings = ["once", "twice", "killed"]
    longest = 0.3 if STRESS else 0.1
    set_disk(disk, longest)
    with Load(port, tmp_path / "journals", BANDITS, seed=26) as load:
        for number in range(STOPS):
            with ServiceProcess(path, port, disk=disk) as service:
                service.wait_until_ready()
                load.wait_for_calls(chance.randrange(5, 60))
                if STRESS and number % 5 == 0:
                    set_disk(disk, longest, once=chance.uniform(3.0, 14.0))
                    time.sleep(chance.uniform(0.0, 1.0))
                service.terminate()
                ending = endings[number % 3]
                time.sleep(0.0 if ending == "once" else chance.uniform(0.0, 0.5))
                if ending == "killed":
                    service.kill()
                    continue
                if ending == "twice":
                    service.terminate()
                code = service.wait()
                assert service.has_saved or code != 0, service.output
                if ending == "once":
                    assert (code == 0) == service.has_saved, (code, service.output)
                    assert code == 0 or "error" in service.output, service.output
        load.stop()
        finish(path, port, load.calls)


@pytest.mark.slow
def test_a_stop_during_a_long_sync_saves_nothing_that_is_not_in_the_log(tmp_path: Path) -> None:
    """Requests that wait behind a sync of 13 s, longer than a service waits for them, are in the log or nowhere."""
    path, port, disk = tmp_path / "songs.rot", free_port(), tmp_path / "disk.json"
    set_disk(disk, 0.0)
    with Load(port, tmp_path / "journals", BANDITS, seed=27) as load:
        with ServiceProcess(path, port, disk=disk) as service:
            service.wait_until_ready()
            load.wait_for_calls(60)
            set_disk(disk, 0.0, once=13.0)
            wait_for(lambda: "once" not in disk.read_text(), "the long sync")
            time.sleep(1.0)  # more requests arrive meanwhile
            service.terminate()
            service.wait()
        load.stop()
        finish(path, port, load.calls)


@pytest.mark.parametrize("name", LOSSES if STRESS else FEW_LOSSES)
def test_a_store_that_is_lost_is_noticed_and_never_made_anew(tmp_path: Path, name: str) -> None:
    for seed in range(LOSSES_OF_EACH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        lose(folder, name, seed)


def lose(folder: Path, name: str, seed: int) -> None:
    """Lose the store of a service under load, and see what the service does."""
    aside, path, port, loss = folder / "aside", folder / "store" / "songs.rot", free_port(), LOSSES[name]
    aside.mkdir()
    path.parent.mkdir()
    with ServiceProcess(path, port) as service, Load(port, folder / "journals", BANDITS, seed) as load:
        service.wait_until_ready()
        load.wait_for_acknowledged(50)
        if name == "replaced by an older backup":
            copied = run_command("backup", str(path), str(aside / "backup.rot"))
            assert copied.returncode == 0, copied.stderr
        load.wait_for_calls(50 + random.Random(seed).randrange(100))
        loss.happen(path, aside)
        if name == "WAL removed":  # SQLite still has it open, and copies what it holds: the service recovers
            load.wait_for_calls(100)
            service.terminate()
            service.wait()
            load.stop()
            finish(path, port, load.calls)
            return
        replacement = content(path)
        wait_for(lambda: not service.is_ready(), "/readyz fails", NOTICED)
        noticed = time.monotonic() + 0.5  # responses that are under way may still arrive
        time.sleep(2.0)
        assert load.acknowledged_after(noticed) == []
        assert not service.is_ready()
        load.stop()
        if not service.has_ended:
            service.terminate()
        assert service.wait() != 0, service.output
        assert not service.has_saved, service.output
    if loss.put_back is not None or replacement is None:
        assert content(path) == replacement, "the service has changed or made a file that is not its store"
    if loss.put_back is not None:
        loss.put_back(path, aside)
        finish(path, port, load.calls)
    elif name == "store removed, WAL left":
        check_orphan(path, port)
    elif path.exists():
        check_or_refused(path, load.calls)


def check_orphan(path: Path, port: int) -> None:
    """A service refuses to start beside a WAL without its store, says so, and leaves the WAL as it is."""
    wal = content(path.with_name("songs.rot-wal"))
    assert wal, "the WAL of the lost store is gone: it held acknowledged events"
    with ServiceProcess(path, port) as service:
        assert service.wait() != 0
        assert "-wal" in service.output
    assert not path.exists()
    assert content(path.with_name("songs.rot-wal")) == wal


@pytest.mark.parametrize("name", WAL_DAMAGES if STRESS else ["truncated"])
def test_a_store_that_lost_the_end_of_its_wal_says_so(tmp_path: Path, name: str) -> None:
    """Nothing but a mark outside the WAL can tell that events are missing: what is left of it looks whole."""
    path, port = tmp_path / "songs.rot", free_port()
    with ServiceProcess(path, port) as service, Load(port, tmp_path / "journals", BANDITS, seed=28) as load:
        service.wait_until_ready()
        load.wait_for_acknowledged(100)
        service.kill()
        load.stop()
    WAL_DAMAGES[name](path.with_name("songs.rot-wal"))
    if check_or_refused(path, load.calls):
        with ServiceProcess(path, port) as service:
            assert service.wait() != 0
            assert str(path) in service.output


@pytest.mark.slow
@pytest.mark.parametrize("first_is", ["busy", "quiet"])
def test_a_writer_that_was_replaced_never_continues_from_what_it_remembers(tmp_path: Path, first_is: str) -> None:
    """Without locks, B takes the store from A and writes. When B has ended, A refuses, or continues exactly from the log."""
    for seed in range(STALE_WRITERS // 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        replace_writer(folder, first_is == "quiet", seed)


def replace_writer(folder: Path, first_is_quiet: bool, seed: int) -> None:
    """Replace writer A by B and end B; a quiet A learns of it from a single request, to one of its bandits."""
    path, ports, journals, chance = folder / "songs.rot", (free_port(), free_port()), folder / "journals", random.Random(seed)
    loads = []

    def start_load(port: int, name: str) -> Load:
        loads.append(Load(port, journals, BANDITS, seed, name))
        return loads[-1]

    with ServiceProcess(path, ports[0], locks=False) as first:
        first.wait_until_ready()
        with start_load(ports[0], "a") as to_first:
            to_first.wait_for_calls(chance.randrange(50, 100))
            if first_is_quiet:
                to_first.stop()
            path.with_name("songs.rot-lock").unlink(missing_ok=True)
            with ServiceProcess(path, ports[1], locks=False) as second:
                with to_first.paused():  # B does not start while it sees that somebody writes
                    second.wait_until_ready()
                with start_load(ports[1], "b") as to_second:
                    to_second.wait_for_acknowledged(chance.randrange(50, 100))
                if first_is_quiet:
                    assert first.call("POST", "/v1/bandits/x/decisions")[0] in {0, 503}
                if chance.random() < 0.5:
                    second.terminate()
                    second.wait()
            refused = [call for call in to_first.calls if call["call"] == "refused"]
            assert refused or first_is_quiet or first.has_ended, "A was not refused"
        with start_load(ports[0], "c"):
            time.sleep(3.0)  # A may try again
        first.terminate()
        first.wait()
    finish(path, ports[0], [call for load in loads for call in load.calls])
