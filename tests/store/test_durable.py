"""A durable bandit is where it was when it last replied, whatever ended it."""

import copy
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

import rotting
from rotting import cli
from rotting.errors import InvalidTypeError, InvalidValueError, RottingError, StoreFailedError, StoreFullError, StoreLockedError
from rotting.live.bandit import Bandit
from rotting.live.decisions import Decision
from rotting.live.locks import Guard
from rotting.policy import Policy
from rotting.store import limits
from rotting.store.durable import DurableBandit, open_in
from rotting.store.restoring import resume
from rotting.store.sqlite import SQLiteStore
from rotting.store.verify import verify
from tests.conftest import INTERPRETED, STRESS
from tests.helpers.disks import failing_disk
from tests.helpers.memory_store import Medium, MemoryStore
from tests.helpers.stores import newest_snapshot

STEPS, KILLS = (2_000, 200) if STRESS else (150, 5)
POLICIES: list[Policy] = [rotting.EffRAWUCB(sigma=0.5), rotting.Exp3S(gamma=0.1, alpha=0.01)]
if STRESS or INTERPRETED:  # to compile more of them takes longer than all other tests of stores
    POLICIES += [rotting.RAWUCB(), rotting.FEWA(), rotting.ThompsonSampling()]


def step(bandit: Bandit, chance: random.Random, owed: list[Decision], old: list[Decision]) -> None:
    """Do something with a bandit, as programs do: late, twice, or not at all."""
    what, k = chance.random(), chance.randrange(10**6)
    if what < 0.35 or not owed:
        made = bandit.decide(count=min(len(bandit.arms), 1 + k % 2))
        owed += made
    elif what < 0.7:
        decision = owed.pop(k % len(owed))
        old.append(decision)
        bandit.reward(decision.id, k % 5 / 4)
    elif what < 0.75 and old:
        assert bandit.reward(old[k % len(old)].id, 0.125) in {"conflict", "unknown", "expired"}
    elif what < 0.8:
        bandit.cancel(owed.pop(k % len(owed)).id)
    elif what < 0.85:
        bandit.expire(owed.pop(k % len(owed)).id, missing=0.25)
    elif what < 0.9:
        bandit.update(bandit.arms[k % len(bandit.arms)], k % 3 / 2)
    elif what < 0.94:
        bandit.add_arm(f"arm {k}")
    elif len(bandit.arms) > 2:
        bandit.retire(bandit.arms[k % len(bandit.arms)])


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")  # it shall overflow
@pytest.mark.parametrize("probe", [None, 0.5])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_bandit_is_where_it_was_when_it_is_closed_or_dies(
    policy: Policy, probe: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_EVENTS", 40)
    medium, chance = Medium(), random.Random(3)
    bandit = open_in(MemoryStore(medium), "songs", policy, ["a", "b", ("c", 1)], seed=5, max_pending=30, probe=probe)
    owed: list[Decision] = []
    old: list[Decision] = []
    ends = 0
    for _ in range(STEPS):
        step(bandit, chance, owed, old)
        if chance.random() < 0.05:
            state, ends = bandit.get_state(), ends + 1
            if chance.random() < 0.5:
                bandit.close()
            else:
                medium.written = False  # it died
            if chance.random() < 0.3:
                medium.snapshots.clear()  # the log is enough
            bandit = open_in(MemoryStore(medium), "songs", None, None)
            assert bandit.get_state() == state
            assert ("probe" in state) == (probe is not None)
    assert ends >= 3
    bandit.close()
    reader = MemoryStore(medium, readonly=True)
    assert verify(reader, replay=True).problems == ()


def play(path: Path, **options: Any) -> DurableBandit:
    return rotting.open(path, rotting.UCB1(), arms=["a", "b"], **options)


def test_rewards_find_their_decisions_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        decisions = [bandit.decide() for _ in range(3)]
        assert bandit.reward(decisions[0].id, 1.0) == "applied"
    with rotting.open(path) as bandit:
        assert bandit.rounds == 3
        assert bandit.reward(decisions[0].id, 1.0) == "duplicate"
        assert bandit.reward(decisions[0].id, 0.0) == "conflict"
        assert bandit.reward(decisions[1].id, 0.5) == "applied"
        assert bandit.reward("x" * 22, 0.5) == "unknown"
    with SQLiteStore(path, readonly=True) as store:
        assert [event.payload["event"] for event in store.read()] == ["decided"] * 3 + ["rewarded"] * 2


def test_a_bandit_in_a_store_decides_as_one_without(tmp_path: Path) -> None:
    plain = Bandit(rotting.Uniform(), arms=[1, 2, 3], seed=9)
    chosen = []
    for _ in range(4):
        with rotting.open(tmp_path / "x.rot", rotting.Uniform(), arms=[1, 2, 3], seed=9) as bandit:
            chosen += [bandit.pull() for _ in range(5)]
    assert chosen == [plain.pull() for _ in range(20)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": rotting.UCB1(sigma=0.5)}, r"policy must be that of the store, UCB1\(sigma=1.0\), got UCB1\(sigma=0.5\)"),
        ({"arms": ["a", "b", "c"]}, r"arms must be those that the bandit was made with, or has now, got .*; see add_arm"),
        ({"seed": 1}, "seed must be that of the store, 0, got 1"),
        ({"pending": "ignore"}, "pending must be that of the store, 'shrink', got 'ignore'"),
        ({"max_pending": 7}, "max_pending must be that of the store, 10000, got 7"),
        ({"probe": 0.02}, "probe must be that of the store, None, got 0.02"),
        ({"name": ""}, "name must be a string of printable characters that is not empty, got ''"),
        ({"name": "films"}, "policy must be given for a bandit that is new to its store, got None"),
        ({"name": "films", "arms": ["a", "b"]}, "policy must be given for a bandit that is new to its store, got None"),
        ({"name": "films", "policy": rotting.UCB1()}, "arms must be given for a bandit that is new to its store, got None"),
    ],
)
def test_another_bandit_than_the_one_that_is_there_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "songs.rot"
    play(path).close()
    with pytest.raises(InvalidValueError, match=f"^{message}$") as caught:
        rotting.open(path, **change)
    play(path).close()  # and nothing stays locked, also while somebody looks at the error
    assert caught.tb is not None


def test_arms_may_be_those_of_the_beginning_or_those_of_now(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        bandit.add_arm("c")
    for arms in (["a", "b"], ["a", "b", "c"]):
        with rotting.open(path, arms=arms) as bandit:
            assert bandit.arms == ("a", "b", "c")


def test_a_bandit_that_cannot_be_made_leaves_a_store_without_it(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with pytest.raises(InvalidTypeError, match="arms must be a list"):
        rotting.open(path, rotting.UCB1(), arms="ab")
    with play(path) as bandit:
        assert bandit.rounds == 0


def test_several_bandits_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    for name in ("songs", "films"):
        with play(path, name=name) as bandit:
            bandit.update("a", 1.0)
    with play(path, name="songs") as bandit, pytest.raises(StoreLockedError):
        play(path, name="films")
    assert bandit.rounds == 1


def test_a_bandit_is_closed_after_a_failed_write(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    play(path).close()
    with failing_disk() as disk:
        bandit = play(path)
        decision = bandit.decide()
        disk.full = True
        with pytest.raises(StoreFullError):
            bandit.reward(decision.id, 1.0)
        disk.full = False
        for verb in (bandit.decide, lambda: bandit.reward(decision.id, 1.0), bandit.get_state):
            with pytest.raises(StoreFailedError, match="^the bandit is ahead of its record.*the disk is full"):
                verb()
        bandit.close()
        with play(path) as bandit:
            assert (bandit.rounds, bandit.pending) == (1, 1)
            assert bandit.reward(decision.id, 1.0) == "applied"


def test_calls_that_waited_during_a_failed_write_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[object] = []
    with play(tmp_path / "songs.rot") as bandit:
        decision = bandit.decide()

        def again() -> None:
            try:
                results.append(bandit.reward(decision.id, 1.0))
            except RottingError as error:
                results.append(error)

        other = threading.Thread(target=again)

        def full(*arguments: object) -> None:
            other.start()
            other.join(0.2)  # it waits for the lock, which this thread has
            raise StoreFullError("no room")

        monkeypatch.setattr(SQLiteStore, "append", full)
        with pytest.raises(StoreFullError):
            bandit.reward(decision.id, 1.0)
        other.join()
    assert [type(each) for each in results] == [StoreFailedError]
    assert str(results[0]) == "the bandit is ahead of its record, which could not be written: open it again (no room)"


def test_decisions_go_on_while_a_snapshot_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot waits here until decisions were made meanwhile; closing waits for it."""
    monkeypatch.setattr(limits, "SNAPSHOT_EVENTS", 3)
    path, decided, numbers = tmp_path / "songs.rot", threading.Event(), []  # type: tuple[Path, threading.Event, list[int]]
    save = SQLiteStore.save_snapshot

    def late(store: SQLiteStore, name: str, number: int, state: Any) -> None:
        assert decided.wait(60), "no decision was possible meanwhile"
        numbers.append(number)
        save(store, name, number, state)

    monkeypatch.setattr(SQLiteStore, "save_snapshot", late)
    with play(path) as bandit:
        for _ in range(8):
            bandit.decide()
        assert not numbers
        states = bandit.get_state()
        decided.set()
    assert numbers == [3, 8]  # one at a time, and the last when it was closed
    with SQLiteStore(path, readonly=True) as store:
        kept = newest_snapshot(store, "bandit")
        assert kept is not None
        assert kept.state == states
        assert verify(store, replay=True).problems == ()


def test_a_snapshot_that_finds_no_room_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_EVENTS", 3)
    path = tmp_path / "songs.rot"

    def full(*arguments: object) -> None:
        raise StoreFullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "save_snapshot", full)
        with play(path) as bandit:
            for _ in range(5):
                bandit.update("a", 1.0)
    with SQLiteStore(path, readonly=True) as store:
        assert newest_snapshot(store, "bandit") is None
    with play(path) as bandit:
        assert bandit.rounds == 5
    with SQLiteStore(path, readonly=True) as store:
        found = newest_snapshot(store, "bandit")  # the events that had to be replayed are in a snapshot now
        assert found is not None
        assert found.number == 5
    with play(path) as bandit:
        bandit.update("a", 1.0)
    with SQLiteStore(path, readonly=True) as store:
        kept = newest_snapshot(store, "bandit")
        assert kept is not None
        assert kept.number == 6


def test_what_is_held_back_is_written_when_the_bandit_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path, durability="memory") as bandit, SQLiteStore(path, readonly=True) as reader:
        decision = bandit.decide()
        assert reader.last == 0
        bandit.flush()
        assert reader.last == 1
        assert bandit.reward(decision.id, 1.0) == "applied"
        assert reader.last == 1
    with play(path) as bandit:
        assert bandit.reward(decision.id, 1.0) == "duplicate"


def test_a_call_is_one_transaction_however_much_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    rotting.open(path, rotting.UCB1(), arms=list(range(20))).close()
    with failing_disk() as disk, rotting.open(path) as bandit:
        bandit.decide()  # the first commit also synchronises the header of the write-ahead log
        before = disk.syncs
        decision = bandit.decide()
        once = disk.syncs - before
        assert once > 0

        def syncs(call: Callable[[], object]) -> int:
            before = disk.syncs
            call()
            return disk.syncs - before

        page: list[Decision] = []
        assert syncs(lambda: page.extend(bandit.decide(count=15))) == once
        assert syncs(lambda: bandit.reward(decision.id, 1.0)) == once
        assert syncs(lambda: bandit.reward_many([(each.id, 0.5) for each in page])) == once
        assert syncs(lambda: bandit.reward(decision.id, 1.0)) == 0  # a duplicate changes nothing


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), "1", True, None, 10**400, 1e300])
def test_an_invalid_reward_is_refused_and_not_written(tmp_path: Path, reward: Any) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        decisions = bandit.decide(count=2)
        with pytest.raises((InvalidTypeError, InvalidValueError), match="^reward must be a finite number"):
            bandit.reward(decisions[0].id, reward)
        with pytest.raises((InvalidTypeError, InvalidValueError)):
            bandit.reward_many([(decisions[1].id, 1.0), (decisions[0].id, reward)])
        assert bandit.pending == 2
    with SQLiteStore(path, readonly=True) as store:
        assert store.last == 2


def test_ids_of_another_store_are_unknown(tmp_path: Path) -> None:
    with play(tmp_path / "songs.rot") as bandit, play(tmp_path / "films.rot") as other:
        mine, yours = bandit.decide(), other.decide()
        assert bandit.reward(yours.id, 1.0) == "unknown"
        assert bandit.reward_many([(yours.id, 1.0), (mine.id, 1.0)]) == ["unknown", "applied"]
        assert other.pending == 1


def test_threads_that_decide_and_reward_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    rewarded: list[str] = []

    def work() -> None:
        for _ in range(15):
            decision = bandit.decide()
            assert bandit.reward(decision.id, 1.0) == "applied"
            rewarded.append(decision.id)

    with play(path) as bandit:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({*rewarded}) == 60
    with play(path) as bandit:
        assert bandit.rounds == 60
        assert {bandit.reward(each, 1.0) for each in rewarded} == {"duplicate"}
    with SQLiteStore(path, readonly=True) as store:
        assert verify(store, replay=True).problems == ()


def test_a_closed_bandit_says_so(tmp_path: Path) -> None:
    bandit = play(tmp_path / "songs.rot")
    bandit.close()
    bandit.close()
    with pytest.raises(StoreFailedError, match="^the bandit is closed: open it again$"):
        bandit.decide()


def test_a_copy_is_a_bandit_without_a_store(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        bandit.update("a", 1.0)
        for twin in (copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
            assert type(twin) is Bandit
            twin.update("a", 0.0)
        assert bandit.rounds == 1
    with SQLiteStore(path, readonly=True) as store:
        assert store.last == 1


def test_a_choice_that_differs_is_found_when_it_is_played_again(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        decision = bandit.decide()
    with SQLiteStore(path) as store:
        forged = {**next(store.read()).payload, "id": "y" * 22, "round": 2, "arm": decision.arm}
        store.append([("bandit", forged), ("bandit", forged)])
        (problem,) = verify(store, replay=True).problems
    assert problem.startswith("event 2: the decision of round 2 was 'a', and is 'b' now; epoch 2 was written by rotting ")


def test_a_snapshot_that_is_not_the_state_is_found(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        bandit.update("a", 1.0)
        other = bandit.get_state()
        bandit.update("a", 1.0)
    with SQLiteStore(path) as store:
        store.save_snapshot("bandit", 2, other)
        assert verify(store, replay=True).problems == (
            "event 2: the snapshot of bandit 'bandit' is not the state that the events up to it make",
        )


def two_bandits(path: Path) -> dict[str, Any]:
    """A store whose last events belong to `films`; returns a state of `songs` that is ahead of its log."""
    with play(path, name="songs") as songs:
        songs.update("a", 1.0)
        songs.update("a", 0.5)
    ahead = two_updates()
    ahead.update("a", 0.25)
    with play(path, name="films") as films:
        films.update("b", 1.0)
    return ahead.get_state()


@pytest.mark.parametrize("number", [2, 3])
def test_a_snapshot_ahead_of_its_log_is_found_wherever_the_log_ends(
    tmp_path: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "songs.rot"
    ahead = two_bandits(path)
    with SQLiteStore(path) as store:
        store.save_snapshot("songs", number, ahead)
        problem = f"event {number}: the snapshot of bandit 'songs' is not the state that the events up to it make"
        assert verify(store, replay=True).problems == (problem,)
    assert cli.main(["log", str(path), "--verify"]) == 1
    assert problem in capsys.readouterr().out


def test_every_kept_snapshot_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    ahead = two_bandits(path)
    with SQLiteStore(path) as store:
        kept = newest_snapshot(store, "songs")
        assert kept is not None
        store.save_snapshot("songs", 1, ahead)
        store.save_snapshot("songs", 3, kept.state)
        assert [each.number for each in store.snapshots("songs")] == [3, 2]
        store.save_snapshot("songs", 2, ahead)
        (problem,) = verify(store, replay=True).problems
        assert problem.startswith("event 2: the snapshot of bandit 'songs' is not the state")


def test_a_snapshot_that_cannot_be_read_back_is_reported_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        bandit.update("a", 1.0)
    with SQLiteStore(path) as store:
        store.save_snapshot("bandit", 1, {"format": "of tomorrow"})
        (problem,) = verify(store, replay=True).problems
        assert problem.startswith("event 1: the snapshot of bandit 'bandit' cannot be read back: ")


UNREADABLE: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    lambda state: {},
    lambda state: {"format": "of tomorrow"},
    lambda state: {**state, "digest": "0" * 16},
    dict.fromkeys,
]


@pytest.mark.parametrize("spoil", UNREADABLE)
def test_a_snapshot_that_cannot_be_read_back_is_passed_over(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "songs.rot"
    with play(path) as bandit:
        for reward in (1.0, 0.5, 0.25):
            bandit.update("a", reward)
        state = bandit.get_state()
    for numbers in ((3,), (2, 3)):  # the older one is used, then the log alone
        with SQLiteStore(path) as store:
            store.save_snapshot("bandit", 2, two_updates().get_state())
            for number in numbers:
                store.save_snapshot("bandit", number, spoil(state))
        caplog.clear()
        with SQLiteStore(path, readonly=True) as store:
            assert Bandit.holding(Guard(resume(store, "bandit", store.bandits()["bandit"]).state)).get_state() == state
        assert [record.name for record in caplog.records] == ["rotting.store"] * len(numbers)
        assert caplog.messages[0].startswith("bandit bandit: the snapshot at event 3 is skipped: ")


def two_updates() -> Bandit:
    bandit = Bandit(rotting.UCB1(), arms=["a", "b"])
    bandit.update("a", 1.0)
    bandit.update("a", 0.5)
    return bandit


def test_a_snapshot_that_the_log_contradicts_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with play(tmp_path / "songs.rot") as bandit:
        for _ in range(6):
            bandit.decide()
        state = bandit.get_state()
    with SQLiteStore(tmp_path / "songs.rot") as store, SQLiteStore(tmp_path / "copy.rot") as copied:
        copied.append([(event.bandit, event.payload) for event in store.read()], store.bandits().items())
        copied.save_snapshot("bandit", 3, state)  # it holds decisions 4 to 6, which follow in the log
        assert Bandit.holding(Guard(resume(copied, "bandit", copied.bandits()["bandit"]).state)).get_state() == state
    assert "the snapshot at event 3 is skipped" in caplog.text


UNTIL = ("now", "now", "a snapshot", "a copy of the WAL", "the end", "the beginning")


class Nursery:
    """Starts programs that decide (see `decider`), and kills them.

    Their policy is interpreted: what the store keeps is tested here, not how fast it is decided.
    """

    def __enter__(self) -> Self:
        command, folder = [sys.executable, "-m", "tests.helpers.store_programs"], Path(__file__).parents[2]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()

    def start(self, *words: object) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.read_number()

    def read_number(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def kill(self, store: Path, notes: Path, seed: int) -> list[str]:
        """Let a program live for a moment, or until it has noted some lines, or is about to do something; return all lines."""
        chance = random.Random(seed)
        notes.touch()
        before = len(notes.read_bytes())
        child = self.start("live", store, notes, seed)
        enough, until = before + chance.choice([0, 2_000, 5_000, 5_000, 10_000]) * chance.random(), chance.choice(UNTIL)
        deadline = time.monotonic() + 60
        while enough > before:
            lines = notes.read_bytes()
            if len(lines) >= enough and (lines.endswith(f"doing {until}\n".encode()) or until == "now"):
                break
            assert time.monotonic() < deadline
            time.sleep(0.0005)
        time.sleep(chance.choice([0, 0.004, 0.04]) * chance.random())
        os.kill(child, signal.SIGKILL)
        assert self.read_number() == -signal.SIGKILL
        return notes.read_text().splitlines()

    def check(self, store: Path, notes: Path, seed: int) -> None:
        """Play the whole log again."""
        self.start("check", store, notes, seed)
        assert self.read_number() == 0
        assert notes.read_text().startswith("checked ")
        notes.unlink()


def test_a_killed_program_loses_and_repeats_no_event(tmp_path: Path) -> None:
    killed, known = Counter[str](), dict[Path, int]()
    with Nursery() as nursery:
        for kill in range(KILLS):
            store = tmp_path / f"{kill // 10}.rot"  # a new one now and then: each is played again from its first event
            noted = [line.split(maxsplit=1) for line in nursery.kill(store, store.with_suffix(".txt"), kill)]
            killed[next((rest for what, rest in reversed(noted) if what == "doing"), "the beginning")] += 1
            if store.exists():
                nursery.check(store, tmp_path / "outcome.txt", kill % 2)
                known[store] = check_acknowledged(store, [(what, *rest.split()) for what, rest in noted])
            else:  # it was not even made
                assert all(what == "doing" for what, _ in noted)
    print(f"{KILLS} kills, during {dict(killed)}; {sum(known.values())} acknowledged decisions and rewards")
    assert sum(known.values()) > KILLS
    assert not STRESS or {*killed} >= {"events", *UNTIL[2:]}


def check_acknowledged(store: Path, noted: list[tuple[str, ...]]) -> int:
    """Check that a store has every acknowledged event once; return how many there are."""
    with SQLiteStore(store, readonly=True) as reader:
        kept = [event.payload for event in reader.read()]
    found = {each["id"]: (str(each["round"]), each["arm"]) for each in kept if each["event"] == "decided"}
    decided = {key: (number, arm) for what, key, number, arm in (each for each in noted if each[0] == "decided")}
    assert decided.items() <= found.items()
    assert sorted(int(number) for number, _ in found.values()) == list(range(1, len(found) + 1))
    ids = [each["id"] for each in kept if each["event"] == "rewarded"]
    assert len(ids) == len({*ids})
    rewarded = {each[1]: each[2] for each in noted if each[0] == "rewarded"}
    assert rewarded.keys() <= {*ids}
    assert {*rewarded.values()} <= {"applied", "duplicate"}
    assert {each[2] for each in noted if each[0] == "again"} <= {"duplicate"}
    return len(decided) + len(rewarded)


@pytest.mark.parametrize(("given", "words"), [({"arms": "ab"}, "arms must be a list of arms"), ({"name": []}, "name must be")])
def test_what_is_no_list_and_no_name_is_refused_by_a_store_that_is_there(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    play(tmp_path / "songs.rot").close()
    with pytest.raises(InvalidTypeError, match=words):
        rotting.open(tmp_path / "songs.rot", **given)


def test_an_arm_that_no_store_can_carry_does_not_end_the_bandit(tmp_path: Path) -> None:
    with play(tmp_path / "songs.rot") as bandit:
        before = bandit.get_state()
        with pytest.raises(InvalidValueError, match="arm must be a string of whole characters"):
            bandit.add_arm("\ud800")
        with pytest.raises(InvalidValueError, match="arm must be a string of whole characters"):
            bandit.learn([("\ud800", 1.0)], unknown="add")
        assert bandit.get_state() == before
        bandit.decide()


def test_a_probe_is_part_of_a_store_and_its_pauses_are_in_the_log(tmp_path: Path) -> None:
    path, twin = tmp_path / "songs.rot", Bandit(rotting.Uniform(), arms=["a", "b", 3], seed=9, probe=0.3)
    paused: list[tuple[Any, ...]] = []
    for _ in range(4):
        with rotting.open(path, rotting.Uniform(), arms=["a", "b", 3], seed=9, probe=0.3) as bandit:
            for _ in range(80):
                paused.append(twin.paused)
                decision = bandit.decide()
                assert decision.arm == twin.decide().arm
                bandit.reward(decision.id, 0.5)
    with pytest.raises(InvalidValueError, match=r"^probe must be that of the store, 0.3, got 0.2$"):
        rotting.open(path, probe=0.2)
    with rotting.open(path) as bandit:
        assert bandit.paused == twin.paused
    export = tmp_path / "songs.csv"
    assert cli.main(["log", str(path), "--out", str(export)]) == 0
    assert cli.main(["log", str(path), "--verify"]) == 0
    for source in (path, export):
        log = rotting.Log(source)
        assert log.paused is not None
        names = [str(name).strip('"') for name in log.arms]  # in CSV, arms of several types are JSON
        assert [{names[k] for k in each} for each in log.paused] == [{str(arm) for arm in each} for each in paused]
        assert log.round.tolist() == list(range(1, 321))
