"""The history of a bandit: the same numbers as counting every event, and what the dashboard shows of them."""

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.server.http import history
from rotting.server.http.history import MAX_BUCKETS, Histories, RewardBuckets, history_response
from rotting.server.store.database import open_database
from rotting.server.store.durable import create
from rotting.server.store.events import chained
from rotting.server.store.rows import decision_rows
from rotting.server.store.settling import Pending
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import FoldedBandit, Turns
from tests.helpers.clocks import HandClock
from tests.helpers.services import SONGS, Client, Running, running, wear_out


def new_buckets() -> RewardBuckets:
    return RewardBuckets(Pending(windowed=False))


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
    counted = count_events(new_buckets(), events)
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
    assert len(counted.pending) == sum(row["reward"] is None and not row["lost"] for row in rows.values())


def test_arms_in_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_MAX_CELLS", 500)
    counted = new_buckets()
    for t in range(1, 5_001):
        count_events(counted, [{"event": "decided", "id": t, "round": t, "arm": t % 400, "propensity": 1.0}])
        assert sum(len(each.cells) for each in counted.buckets) <= 501 or len(counted.buckets) == 1
    assert sum(each.plays for each in counted.buckets) == 5_000
    assert {each.name: each.plays for each in counted.arms} == {arm: 12 + (1 <= arm <= 200) for arm in range(400)}


def test_the_range_of_rewards_is_known() -> None:
    counted = new_buckets()
    for rewards, lowest, highest, binary in (([1, 0.0], 0, 1, True), ([0.5], 0, 1, False), ([-2, 7.0], -2, 7, False)):
        count_events(counted, [{"event": "learned", "arm": "a", "reward": reward} for reward in rewards])
        assert (counted.lowest, counted.highest, counted.binary) == (lowest, highest, binary)


def test_restricted_decisions_are_recognised() -> None:
    bandit, events = rotting.Bandit(rotting.UCB1(), arms=["a", "b", "c"]), list[dict[str, Any]]()
    bandit._state.events = events
    bandit.decide()
    bandit.decide(["a", "b"])
    bandit.decide(without=["a"])
    bandit.decide(count=2)
    counted, restricted = new_buckets(), []
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
    counted = count_events(new_buckets(), events)
    assert [(each.name, each.plays, each.lost) for each in counted.arms] == [("a", 1, 1), ("b", 1, 0), ("a", 1, 0)]
    assert counted.totals("a").number == 2
    assert (len(counted.pending), counted.recent()) == (2, (3, {"a": 1, "b": 1}))


def test_an_arm_that_could_be_chosen_and_is_not_is_starved() -> None:
    counted = RewardBuckets(Pending(windowed=False), 0, ["a", "b", "c", "d"])

    def decide(first: int, last: int) -> None:
        count_events(counted, [{"event": "decided", "id": t, "round": t, "arm": "ab"[t % 2]} for t in range(first, last + 1)])

    decide(1, 999)
    assert counted.starved() == frozenset()  # too few
    decide(1_000, 2_000)
    assert counted.starved() == {"c", "d"}
    count_events(counted, [{"event": "retired", "arm": "c"}, {"event": "changed", "paused": ["d"]}])
    assert counted.starved() == frozenset()
    count_events(counted, [{"event": "revived", "arm": "c"}, {"event": "changed", "paused": []}])
    assert counted.starved() == frozenset()  # not for long
    decide(2_001, 4_000)
    assert counted.starved() == {"c", "d"}


def test_rewards_that_were_learned_at_once_count_as_those_that_came_one_by_one() -> None:
    bandit, events = rotting.Bandit(rotting.UCB1(), arms=["a", "b", ("c", 1)]), list[dict[str, Any]]()
    bandit._state.events = events
    rows = [(bandit.arms[k % 3], k / 10) for k in range(40)]
    bandit.learn(rows)
    assert {event["event"] for event in events} == {"learned_many"}
    counted = count_events(new_buckets(), events)
    single = count_events(new_buckets(), [{"event": "learned", "arm": arm, "reward": reward} for arm, reward in rows])
    assert counted.rounds == single.rounds == 40
    for each in (counted, single):
        assert [(arm.name, arm.plays) for arm in each.arms] == [("a", 14), ("b", 13), (("c", 1), 13)]
    assert [arm.total for arm in counted.arms] == [arm.total for arm in single.arms]


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
    assert after == before


def test_a_history_begins_anew_if_events_that_it_has_not_read_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rotting.server.store.snapshots._LEAST_REMOVED", 1)
    with rotting.open(tmp_path / "songs.rot", rotting.UCB1(), arms=["a", "b"], keep="1d") as bandit:
        database = bandit._turns.database
        histories, record = Histories(database), database.find("bandit")
        assert record is not None
        first, second = bandit.decide(), bandit.decide()
        with histories.read_on(record) as (counted, behind):
            assert (counted.sums().pending, behind) == (2, 0)
        bandit.reward(first, 1.0)
        bandit.decide()
        assert remove_old_events(database, "bandit", time.time() + 100_000) == 4
        sweep(database)
        bandit.reward(second, 1.0)
        for _ in range(2):  # the first time, as if the events were removed while they are read
            with histories.read_on(record) as (counted, behind):
                assert (counted.last_read, behind) in {(2, 3), (5, 0)}
            record = database.find("bandit")
            assert record is not None
        assert (counted.sums().pending, behind) == (1, 0)


def test_decisions_that_settle_without_a_reward_count_as_missing_or_lost() -> None:
    for missing in (0.0, None):
        counted = new_buckets()
        for t in range(1, 4):
            counted.add(json.dumps({"event": "decided", "id": str(t), "round": t, "arm": "a", "propensity": 1.0}).encode())
        counted.add(b'{"event": "rewarded", "id": "2", "reward": 1.0}')
        counted.add(json.dumps({"event": "settled", "round": 2, "missing": missing}).encode())
        assert len(counted.pending) == 1
        totals = counted.totals("a")
        assert (totals.rewards, totals.lost, totals.total) == ((2, 0, 1.0) if missing == 0.0 else (1, 1, 1.0))


def test_the_history_the_export_and_the_bandit_agree_on_what_has_settled(tmp_path: Path) -> None:
    clock, rng = HandClock(time.time()), random.Random(4)
    turns = Turns(open_database(tmp_path / "songs.rot"), "never", clock=clock)
    create(turns, "songs", rotting.UCB1(), ["a", "b", "c"], reward_window="10min", holdout=0.2)
    histories, made = Histories(turns.database), list[str]()

    def step(folded: FoldedBandit) -> None:
        for _ in range(20):
            made.append(folded.bandit.decide().id)
            for late in rng.sample(made, min(3, len(made))):
                folded.bandit.reward(late, float(rng.random() < 0.5))

    for k in range(40):
        clock.now += 60.0
        turns.change("songs", step)
        if k == 20:
            turns.change("songs", lambda folded: folded.bandit.change(missing=0.25))
        if k == 25:
            turns.change("songs", lambda folded: folded.bandit.forget("b"))
        if k == 30:
            turns.change("songs", lambda folded: folded.bandit.change(reward_window=None))
        if k % 5 == 0:
            record = turns.database.find("songs")
            assert record is not None
            rows = list(decision_rows(turns.database, record))
            with histories.read_on(record) as (counted, behind):
                assert (behind, len(counted.pending)) == (0, turns.read("songs", lambda folded: folded.bandit.pending))
                settled = [row.reward for row in rows if row.state == "settled"]
                assert sum(each.rewards for each in counted.arms) == len(settled)
                assert sum(each.total for each in counted.arms) == sum(each for each in settled if each is not None)
                assert sum(each.lost for each in counted.arms) == sum(row.state == "expired" for row in rows)
                assert sum(row.state == "pending" for row in rows) == len(counted.pending)
            if k < 20:  # no change of the window yet: `uplift` compares all
                found = turns.read("songs", lambda folded: folded.bandit.uplift())
                held_out = [row.rule == "holdout" for row in rows if row.state == "settled"]
                paid = [row.reward or 0.0 for row in rows if row.state == "settled"]
                sides = [
                    [reward for reward, held in zip(paid, held_out, strict=True) if held is side] for side in (False, True)
                ]
                assert found.rewards == tuple(map(len, sides))
                for mean, side in zip((found.policy, found.uniform), sides, strict=True):
                    assert not side or mean == sum(side) / len(side)
    turns.close()


def test_events_that_do_not_fit_together_are_damage(service: Running, songs: Client) -> None:
    database = service.service.database
    with database.transaction() as transaction:
        record = transaction.record("songs")
        assert record is not None
        transaction.append(
            record,
            chained(
                record.first_digest,
                0,
                1,
                "",
                [b'{"event": "rewarded"'],
            ),
            (),
        )
    response = songs("GET", "/v1/bandits/songs/history")
    assert (response.status, response.body["type"]) == (503, "urn:rotting:problem:store-failed")
    assert "is damaged: event 1 is no JSON" in response.body["detail"]


def test_the_log_is_read_in_turns_and_once(service: Running) -> None:
    client = service.client()
    for name in ("songs", "films"):
        client("PUT", f"/v1/bandits/{name}", SONGS)
    for _ in range(4):
        for name in ("songs", "films"):
            client("POST", f"/v1/bandits/{name}/decisions", {"count": 3})
            client("POST", f"/v1/bandits/{name}/expirations", {"older_than_rounds": 0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "_CHUNK", 10)
        cache, database = Histories(service.service.database, read_seconds=0.0), service.service.database  # one chunk a call
        record, left = database.find("songs"), []
        assert record is not None
        for _ in range(4):
            with cache.read_on(record) as (counted, behind):
                left.append(behind)
    last = database.last(record)
    assert last is not None
    assert left == [last.number - 10, last.number - 20, 0, 0]  # events of other bandits are not read
    assert counted.rounds == 12
    assert sum(each.plays for each in counted.buckets) == 12


BANDIT = "/v1/bandits/many"


@pytest.fixture
def many(client: Client) -> Client:
    """A bandit of 60 arms that were all tried; the first ones were chosen more often, and one wears out."""
    made = {"policy": "eff-raw-ucb", "params": {"sigma": 0.1}, "arms": [f"Song {k:02d}" for k in range(60)]}
    assert client("PUT", BANDIT, made).status == 201
    for k in range(60):
        for turn in range(1 + 2 * (k < 5) + 60 * (k == 0)):
            allow = {"arms": [f"Song {k:02d}"]}
            decision = client("POST", f"{BANDIT}/decisions", allow).body["decisions"][0]
            value = 1.0 if turn < 30 else 0.0
            client("POST", f"{BANDIT}/rewards", [{"id": decision["id"], "reward": value if k == 0 else k / 100}])
    return client


def arms(client: Client, **query: Any) -> Any:
    response = client("GET", f"{BANDIT}/arms?" + "&".join(f"{key}={value}" for key, value in query.items()))
    assert response.status == 200, response
    return response.body


def test_the_top_arms_and_the_rest_are_all_decisions(many: Client) -> None:
    for top in (1, 8, 20):
        found = many("GET", f"{BANDIT}/history?top={top}").body
        assert len(found["arms"]) == top
        assert found["arms"][0]["arm"] == "Song 00"
        assert found["others"] == 60 - top
        columns = [*(arm["plays"] for arm in found["arms"]), found["other_plays"]]
        assert [sum(each) for each in zip(*columns, strict=True)] == found["plays"]
        assert sum(found["plays"]) == found["rounds"] == found["totals"]["decisions"] == 130
    assert found["totals"] == {"decisions": 130, "rewards": 130, "mean": found["totals"]["mean"], "pending": 0, "lost": 0}
    assert found["behind"] == 0
    assert found["last"]["arm"] == "Song 59"
    assert found["last"]["reason"]["pulls"] == 0


@pytest.mark.parametrize(
    ("rewards", "declared", "found"),
    [
        ([], None, (None, None, False)),
        ([0.0, 1.0, 1.0], None, (0.0, 1.0, True)),
        ([0.0, 0.5], None, (0.0, 1.0, False)),
        ([0.0, 20.0], None, (0.0, None, False)),
        ([-1.0, 1.0], None, (None, None, False)),
        ([0.0, 1.0], (0.0, 10.0), (0.0, 10.0, False)),
        ([], (-1.0, 1.0), (-1.0, 1.0, False)),
    ],
)
def test_the_range_of_rewards_is_what_the_policy_declares_or_what_they_show(
    rewards: list[float], declared: tuple[float, float] | None, found: tuple[float | None, float | None, bool]
) -> None:
    counted = new_buckets()
    for reward in rewards:
        counted.add(json.dumps({"event": "learned", "arm": "a", "reward": reward}).encode())
    response = history_response(counted, 0, 8, None, declared)
    assert (response.lowest_reward, response.highest_reward, response.binary) == found


def test_the_last_decision_says_whether_all_arms_could_be_chosen(many: Client) -> None:
    for allow, restricted in ({}, False), ({"arms": ["Song 01"]}, True), ({"count": 2}, True), ({"count": 1}, False):
        many("POST", f"{BANDIT}/decisions", allow)
        assert many("GET", f"{BANDIT}/history").body["last"]["restricted"] is restricted


def test_the_arm_that_wears_out_is_marked(service: Running, client: Client) -> None:
    client("PUT", BANDIT, {"policy": "uniform", "arms": ["fading", "steady"]})
    wear_out(service, BANDIT.rsplit("/", 1)[1], "fading", "steady")
    found = arms(client, order="worn")
    assert [(row["arm"], row["worn"]) for row in found["arms"]] == [("fading", True), ("steady", False)]
    assert found["arms"][0]["lasts"].startswith("how long it lasts is not known: ")
    assert found["arms"][1]["lasts"] is None
    listed = client("GET", "/v1/bandits").body["bandits"][0]
    assert (found["worn"], listed["worn"], listed["last_hour"]) == (1, 1, 3_000)


def test_the_list_shows_what_arms_did(many: Client) -> None:
    first = arms(many, order="plays", limit=3)["arms"][0]
    assert (first["arm"], first["plays"], first["rewards"]) == ("Song 00", 63, 63)
    assert first["overall"] == pytest.approx(30 / 63)
    assert first["mean"] == 0.0
    assert first["spark"] == [1.0] * 15 + [0.75] + [0.0] * 17  # its 63 decisions come first, in steps of four


def test_arms_are_searched_sorted_and_paged(many: Client) -> None:
    pages = [arms(many, order="name", offset=offset, limit=25) for offset in (0, 25, 50)]
    assert [row["arm"] for page in pages for row in page["arms"]] == [f"Song {k:02d}" for k in range(60)]
    found = arms(many, search="sOnG%205", order="overall")
    assert (found["matching"], found["total"]) == (10, 60)
    assert [row["arm"] for row in found["arms"]] == [f"Song {k}" for k in range(59, 49, -1)]
    for order, key in (("plays", "plays"), ("share", "share"), ("index", "index"), ("overall", "overall")):
        values = [row[key] for row in arms(many, order=order, limit=100)["arms"]]
        assert values == sorted(values, reverse=True)
    shares = [row["share"] for row in arms(many, limit=100)["arms"]]
    assert sum(shares) == pytest.approx(1.0)
    assert arms(many, search="nothing")["arms"] == []
    for wrong in ("order=best", "limit=101", "offset=-1", "top=3"):
        assert many("GET", f"{BANDIT}/arms?{wrong}").status == 422


def test_a_retired_arm_is_listed_and_one_that_was_never_tried_comes_first_by_index(many: Client) -> None:
    many("DELETE", f"{BANDIT}/arms/Song%2007?keep=true")
    many("PUT", f"{BANDIT}/arms/new")
    found = {row["arm"]: row for row in arms(many, limit=100)["arms"]}
    assert found["Song 07"]["retired"]
    assert found["Song 07"]["overall"] == 0.07
    assert found["Song 07"] | {"pulls": 0, "pending": 0, "window": 0, "index": None, "mean": None} == found["Song 07"]
    assert arms(many, order="index")["arms"][0]["arm"] == "new"
    assert arms(many, order="index", limit=100)["arms"][-1]["arm"] == "Song 07"
    assert found["new"] | {"retired": False, "plays": 0, "share": 0.0, "index": None} == found["new"]
    assert set(found["new"]["spark"]) == {0}


def test_responses_stay_small_in_long_games(many: Client) -> None:
    for _ in range(4):
        many("POST", f"{BANDIT}/decisions", {"count": 60})
    assert len(json.dumps(many("GET", f"{BANDIT}/history").body)) < 30_000
