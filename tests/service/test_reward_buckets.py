"""Reward buckets: the same numbers as counting every event."""

import json
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.live.bandit import Bandit
from rotting.live.explanations import ArmExplanation
from rotting.live.locks import Guard
from rotting.service import reward_buckets
from rotting.service.reward_buckets import MAX_BUCKETS, RewardBuckets, RewardBucketsCache, is_worn
from rotting.store.hosted import Batch
from tests.helpers.services import SONGS, Client, Running, running


def game(rounds: int, arms: int, seed: int = 0) -> list[dict[str, Any]]:
    """Events of a bandit that nobody runs: rewards come late, in any order, or never."""
    chance, events, waiting = random.Random(seed), [], []
    for t in range(1, rounds + 1):
        if chance.random() < 0.1:
            events.append({"event": "learned", "arm": chance.randrange(arms), "reward": chance.random()})
        else:
            arm = chance.randrange(arms)
            events.append({"event": "decided", "id": f"d{t}", "round": t, "arm": arm, "propensity": 1.0})
            waiting.append(f"d{t}")
        if len(waiting) > 20:
            key = waiting.pop(chance.randrange(len(waiting)))
            kind = chance.choice(["rewarded", "rewarded", "cancelled", "expired", "expired with a reward"])
            if kind == "cancelled":
                events.append({"event": kind, "id": key})
            else:
                reward = None if kind == "expired" else 1e6 + chance.gauss(0, 1)
                events.append({"event": kind.split()[0], "id": key, "reward": reward})
    return events


def count_events(counted: RewardBuckets, events: list[dict[str, Any]]) -> RewardBuckets:
    """Count events in the form that they have in the log, and return the buckets."""
    for event in events:
        counted.add(json.dumps(event).encode())
    return counted


@pytest.mark.parametrize("rounds", [1, 199, 200, 201, 3_333])
def test_buckets_are_what_counting_gives(rounds: int) -> None:
    events = game(rounds, arms=5)
    counted = count_events(RewardBuckets(), events)
    rows: dict[Any, dict[str, Any]] = {}  # of every round: its arm, its reward, whether it is lost
    t = 0
    for event in events:
        if event["event"] in {"decided", "learned"}:
            t += 1
            rows[event.get("id", f"l{t}")] = {"round": t, "arm": event["arm"], "reward": event.get("reward"), "lost": False}
        elif event.get("reward") is not None:
            rows[event["id"]]["reward"] = event["reward"]
        else:
            rows[event["id"]]["lost"] = True
    assert counted.rounds == rounds
    assert counted.width == max(1, 2 ** int(np.ceil(np.log2(rounds / MAX_BUCKETS))))
    assert len(counted.buckets) <= MAX_BUCKETS
    for k, bucket in enumerate(counted.buckets):
        mine = [row for row in rows.values() if (row["round"] - 1) // counted.width == k]
        rewards = [row["reward"] for row in mine if row["reward"] is not None]
        assert (bucket.plays, bucket.rewards) == (len(mine), len(rewards))
        assert bucket.lost == sum(row["lost"] for row in mine)
        if rewards:
            assert bucket.mean == pytest.approx(np.mean(rewards), rel=1e-12)
            assert bucket.squares == pytest.approx(np.var(rewards) * len(rewards), rel=1e-6, abs=1e-9)
        for number, arm in enumerate(counted.arms):
            assert counted.plays_of(number)[k] == sum(row["arm"] == arm.name for row in mine)
    for arm in counted.arms:
        of = [row for row in rows.values() if row["arm"] == arm.name]
        assert (arm.plays, arm.lost) == (len(of), sum(row["lost"] for row in of))
        assert arm.rewards == sum(row["reward"] is not None for row in of)
    assert counted.waiting == sum(row["reward"] is None and not row["lost"] for row in rows.values())


def test_arms_in_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_buckets, "_MAX_CELLS", 500)
    counted = RewardBuckets()
    for t in range(1, 5_001):
        count_events(counted, [{"event": "decided", "id": t, "round": t, "arm": t % 400, "propensity": 1.0}])
        assert sum(len(each.cells) for each in counted.buckets) <= 501 or len(counted.buckets) == 1
    assert sum(each.plays for each in counted.buckets) == 5_000
    assert {each.name: each.plays for each in counted.arms} == {arm: 12 + (1 <= arm <= 200) for arm in range(400)}


def test_the_range_of_rewards_is_known() -> None:
    counted = RewardBuckets()
    for rewards, lowest, highest, binary in (([1, 0.0], 0, 1, True), ([0.5], 0, 1, False), ([-2, 7.0], -2, 7, False)):
        count_events(counted, [{"event": "learned", "arm": "a", "reward": reward} for reward in rewards])
        assert (counted.lowest, counted.highest, counted.binary) == (lowest, highest, binary)


def test_restricted_decisions_are_recognised() -> None:
    bandit, events = rotting.Bandit(rotting.UCB1(), arms=["a", "b", "c"]), list[dict[str, Any]]()
    bandit = Bandit.holding(Guard(bandit._state, events.extend))
    bandit.decide()
    bandit.decide(["a", "b"])
    bandit.decide(without=["a"])
    bandit.decide(count=2)
    counted, restricted = RewardBuckets(), []
    for event in events:
        last = count_events(counted, [event]).last
        assert last is not None
        restricted.append(last.restricted)
    assert restricted == [False, True, True, False, True]


def test_an_arm_that_comes_again_is_a_new_one() -> None:
    events: list[dict[str, Any]] = [
        {"event": "decided", "id": "x", "round": 1, "arm": "a", "propensity": 1.0},
        {"event": "decided", "id": "y", "round": 2, "arm": "b", "propensity": 1.0},
        {"event": "forgotten", "arm": "a"},
        {"event": "added", "arm": "a", "prior": None},
        {"event": "decided", "id": "z", "round": 3, "arm": "a", "propensity": 1.0},
    ]
    counted = count_events(RewardBuckets(), events)
    assert [(each.name, each.plays, each.lost) for each in counted.arms] == [("a", 1, 1), ("b", 1, 0), ("a", 1, 0)]
    assert counted.totals("a").number == 2
    assert (counted.waiting, counted.recent()) == (2, (3, {"a": 1, "b": 1}))


def test_rewards_that_were_learned_at_once_count_as_those_that_came_one_by_one() -> None:
    bandit, events = rotting.Bandit(rotting.UCB1(), arms=["a", "b", ("c", 1)]), list[dict[str, Any]]()
    bandit = Bandit.holding(Guard(bandit._state, events.extend))
    rows = [(bandit.arms[k % 3], k / 10) for k in range(40)]
    bandit.learn(rows)
    assert {event["event"] for event in events} == {"learned_many"}
    counted = count_events(RewardBuckets(), events)
    single = count_events(RewardBuckets(), [{"event": "learned", "arm": arm, "reward": reward} for arm, reward in rows])
    assert counted.rounds == single.rounds == 40
    for each in (counted, single):
        assert [(arm.name, arm.plays) for arm in each.arms] == [("a", 14), ("b", 13), (("c", 1), 13)]
    assert [arm.total for arm in counted.arms] == [arm.total for arm in single.arms]


def test_the_dashboard_does_not_delay_decisions(service: Running, songs: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    read_on, entered, go_on = RewardBucketsCache.read_on, threading.Event(), threading.Event()

    def slow(self: RewardBucketsCache, name: str) -> tuple[RewardBuckets, int]:
        entered.set()
        assert go_on.wait(60)
        return read_on(self, name)

    monkeypatch.setattr(RewardBucketsCache, "read_on", slow)
    statuses: list[int] = []

    def look() -> None:
        statuses.append(service.client()("GET", "/v1/bandits/songs/history").status)

    watchers = [threading.Thread(target=look) for _ in range(8)]
    for each in watchers:
        each.start()
    assert entered.wait(60)
    try:
        assert songs("POST", "/v1/bandits/songs/decisions", {"dry_run": True}).status == 200
        assert songs("PUT", "/v1/bandits/films", SONGS).status == 201
        assert statuses == []
    finally:
        go_on.set()
        for each in watchers:
            each.join()
    assert statuses == [200] * 8


def test_events_that_do_not_fit_together_are_damage(service: Running, songs: Client) -> None:
    service.host.write(Batch(1, events=[("songs", {"event": "rewarded", "id": "nobody's", "reward": 1.0})]))
    response = songs("GET", "/v1/bandits/songs/history")
    assert (response.status, response.body["type"]) == (503, "urn:rotting:problem:store-failed")
    assert "the events of 'songs' up to 1 do not fit together" in response.body["detail"]


def test_a_bandit_whose_row_is_under_way_has_no_history_yet(service: Running) -> None:
    hosted = service.host.make("films", rotting.UCB1(), ["a", "b"])
    assert hosted.description is not None
    service.host.descriptions.unwritten["films"] = hosted.description  # adopted, and not written yet
    counted, left = RewardBucketsCache(service.host).read_on("films")
    assert (counted.rounds, left) == (0, 0)
    del service.host.descriptions.unwritten["films"]


@pytest.mark.parametrize(
    ("reason", "overall", "worn"),
    [
        (ArmExplanation(0.3, 0.2, 100, 0.1, 400), 0.36, True),
        (ArmExplanation(0.3, 0.2, 100, 0.1, 400), 0.35, False),  # 0.1 and half of it: no more than chance
        (ArmExplanation(0.3, 0.2, 400, 0.1, 400), 0.9, False),  # the window is all there is
        (ArmExplanation(0.3, 0.2, 0, 0.1, 400), 0.9, False),
        (ArmExplanation(float("nan"), 0.2, 100, float("inf"), 400), 0.9, False),
        (ArmExplanation(0.3, 0.2, 100, 0.1, 400), None, False),
    ],
)
def test_an_arm_wears_out_if_its_newest_rewards_pay_less_than_chance_explains(
    reason: ArmExplanation, overall: float | None, worn: bool
) -> None:
    assert is_worn(reason, overall) is worn


def test_the_log_is_read_in_turns_and_once(service: Running) -> None:
    client = service.client()
    for name in ("songs", "films"):
        client("PUT", f"/v1/bandits/{name}", SONGS)
    for _ in range(300):
        for name in ("songs", "films"):
            client("POST", f"/v1/bandits/{name}/decisions", {"count": 2})
    ticks = iter(range(10_000))
    cache = RewardBucketsCache(service.host, read_seconds=0.0, clock=lambda: next(ticks))  # each call reads one chunk
    left = [cache.read_on("songs")[1] for _ in range(6)]
    assert left == [600 - 256, 600 - 512, 0, 0, 0, 0]  # events of other bandits are not read
    counted, _ = cache.read_on("songs")
    assert counted.rounds == 600
    assert sum(each.plays for each in counted.buckets) == 600


def test_a_history_is_the_same_after_a_start(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot") as service:
        client = service.client()
        client("PUT", "/v1/bandits/songs", SONGS)
        for _ in range(30):
            made = client("POST", "/v1/bandits/songs/decisions").body["decisions"][0]
            before = client("GET", "/v1/bandits/songs/history").body  # it is read bit by bit
            client("POST", "/v1/bandits/songs/rewards", [{"id": made["id"], "reward": 0.5}])
        before = client("GET", "/v1/bandits/songs/history").body
        assert before["last"]["reason"] is not None
    with running(tmp_path / "songs.rot") as service:
        after = service.client()("GET", "/v1/bandits/songs/history").body
    assert after["last"].pop("reason") is None
    before["last"].pop("reason")
    assert after == before


def test_decisions_that_settle_without_a_reward_count_as_missing_or_lost() -> None:
    for missing in (0.0, None):
        counted = RewardBuckets()
        for t in range(1, 4):
            counted.add(json.dumps({"event": "decided", "id": str(t), "round": t, "arm": "a", "propensity": 1.0}).encode())
        counted.add(b'{"event": "rewarded", "id": "2", "reward": 1.0}')
        counted.add(json.dumps({"event": "settled", "round": 2, "missing": missing}).encode())
        assert counted.waiting == 1
        totals = counted.totals("a")
        assert (totals.rewards, totals.lost, totals.total) == ((2, 0, 1.0) if missing == 0.0 else (1, 1, 1.0))
