"""What a page shows of a bandit."""

import json
from typing import Any

import pytest

from rotting.live.decisions import Decision
from rotting.live.explanations import ArmExplanation
from rotting.service.overview import history_response
from rotting.service.reward_buckets import RewardBuckets
from tests.helpers.services import Client

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
    assert found["totals"] == {"decisions": 130, "rewards": 130, "mean": found["totals"]["mean"], "waiting": 0, "lost": 0}
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
    counted = RewardBuckets()
    for reward in rewards:
        counted.add(json.dumps({"event": "learned", "arm": "a", "reward": reward}).encode())
    response = history_response(counted, 0, 8, None, declared)
    assert (response.lowest_reward, response.highest_reward, response.binary) == found


def test_the_last_decision_says_whether_all_arms_could_be_chosen(many: Client) -> None:
    for allow, restricted in ({}, False), ({"arms": ["Song 01"]}, True), ({"count": 2}, True), ({"count": 1}, False):
        many("POST", f"{BANDIT}/decisions", allow)
        assert many("GET", f"{BANDIT}/history").body["last"]["restricted"] is restricted


def test_the_reason_of_a_decision_that_the_log_does_not_have_yet_is_told_without_its_arms() -> None:
    last = Decision("y", "a", 2, 1.0, ArmExplanation(0.5, 0.4, 1, 0.1, 1))
    counted = RewardBuckets()
    counted.add(b'{"event": "decided", "id": "x", "round": 1, "arm": "a", "arms": ["a"], "without": null, "propensity": 1.0}')
    decision = history_response(counted, 1, 8, last).last
    assert decision is not None
    assert (decision.round, decision.restricted) == (2, None)


def test_the_arm_that_wears_out_is_marked(many: Client) -> None:
    found = arms(many, order="worn", limit=3)
    assert found["worn"] == 1
    first = found["arms"][0]
    assert (first["arm"], first["worn"], first["plays"], first["rewards"]) == ("Song 00", True, 63, 63)
    assert first["overall"] == pytest.approx(30 / 63)
    assert first["mean"] == 0.0
    assert sum(first["spark"]) == 63
    assert len(first["spark"]) <= 40


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
