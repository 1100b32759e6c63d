"""Every route, every outcome, every error."""

import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import rotting
from rotting.errors import StoreFailedError
from rotting.server.http.tokens import new_token
from rotting.server.keys import KEY_LIFETIME, new_key
from tests.helpers.services import SONGS, Client, Response, Running, running

BANDIT = "/v1/bandits/songs"


def decide(client: Client, **body: Any) -> list[dict[str, Any]]:
    response = client("POST", f"{BANDIT}/decisions", body)
    assert response.status == 200, response
    found: list[dict[str, Any]] = response.body["decisions"]
    return found


def outcomes(client: Client, *rewards: tuple[str, float]) -> list[str]:
    response = client("POST", f"{BANDIT}/rewards", [{"id": key, "reward": value} for key, value in rewards])
    assert response.status == 200, response
    assert [each["id"] for each in response.body["results"]] == [key for key, _ in rewards]
    return [each["outcome"] for each in response.body["results"]]


def problem(response: Response, status: int, kind: str, *, field: str | None = None, value: str | None = None) -> None:
    """Check that a response is a problem document with all its fields."""
    assert response.status == status, response
    assert response.headers["content-type"] == "application/problem+json"
    assert response.body["status"] == status
    assert response.body["type"] == f"urn:rotting:problem:{kind}"
    assert set(response.body) >= {"title", "detail"}, response.body
    about_field = status < 500 and status != 429  # the others are about the service
    assert set(response.body) & {"field", "rule", "value"} == ({"field", "rule", "value"} if about_field else set()), (
        response.body
    )
    assert field is None or response.body["field"] == field, response.body
    assert value is None or response.body["value"] == value, response.body


def events(client: Client, name: str = "songs") -> list[dict[str, Any]]:
    return [each["payload"] for each in client("GET", f"/v1/bandits/{name}/log?limit=1000").body["events"]]


def test_a_reward_window_is_part_of_a_bandit(client: Client) -> None:
    windowed = {**SONGS, "reward_window": "30min", "missing": None}
    made = client("PUT", BANDIT, windowed)
    assert (made.status, made.body["reward_window"], made.body["missing"]) == (201, 1_800.0, None)
    assert client("PUT", BANDIT, {**windowed, "reward_window": 1_800}).status == 200  # the same, in other words
    for other in (SONGS, {**windowed, "reward_window": "1h"}, {**windowed, "missing": 0.0}):
        problem(client("PUT", BANDIT, other), 409, "bandit-differs", field="bandit")
    problem(client("PUT", f"{BANDIT}-2", {**SONGS, "reward_window": "soon"}), 422, "invalid-value", field="reward_window")
    client("POST", f"{BANDIT}/decisions", {"count": 2})
    assert client("POST", f"{BANDIT}/expirations", {"older_than": "1h"}).body["expired"] == 0
    both = {"older_than": "1h", "older_than_rounds": 1}
    got = {"field": "ids, older_than_rounds or older_than", "value": "older_than_rounds and older_than"}
    problem(client("POST", f"{BANDIT}/expirations", both), 422, "invalid-value", **got)
    assert client("GET", BANDIT).body["pending"] == 2


def test_creating_a_bandit_is_idempotent(client: Client) -> None:
    first = client("PUT", BANDIT, SONGS)
    assert first.status == 201
    assert first.body == {
        "name": "songs",
        "policy": "ucb1",
        "params": first.body["params"],
        "seed": 0,
        "pending_rule": "shrink",
        "max_pending": None,
        "archived": False,
        "rounds": 0,
        "pending": 0,
        "arms": ["jazz", "rock", "folk"],
        "retired": [],
        "reward_window": None,
        "missing": None,
        "holdout": 0.0,
        "caps": {},
        "floors": {},
        "paused": [],
        "most_pending": 10_000,
        "draws": False,
        "keep": None,
    }
    assert first.body["params"]["sigma"] == 0.5
    decide(client)
    again = client("PUT", BANDIT, SONGS)
    assert (again.status, again.body["rounds"]) == (200, 1)
    for other in (
        {"policy": "uniform", "params": {}},
        {"params": {"sigma": 0.25}},
        {"arms": ["jazz"]},
        {"arms": ["rock", "jazz", "folk"]},  # their order decides between arms that are level
        {"seed": 1},
        {"pending": "ignore"},
        {"max_pending": 9_999},
        {"keep": "90d"},
    ):
        problem(client("PUT", BANDIT, {**SONGS, **other}), 409, "bandit-differs", field="bandit")
    assert client("GET", BANDIT).body["rounds"] == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"policy": "ucb2"}, "policy"),
        ({"policy": "greedy-oracle", "params": {}}, "policy"),
        ({"params": {"sigma": -1}}, "params.sigma"),
        ({"params": {"sigma": True}}, "params[...]"),
        ({"params": {"self": 1}}, "params"),
        ({"params": {"gamma": 1}}, "params"),
        ({"arms": []}, "arms"),
        ({"arms": ["a", "a"]}, "arms"),
        ({"arms": ["a", 1]}, "arms[1]"),
        ({"arms": [""]}, "arms[0]"),
        ({"arms": "abc"}, "arms"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"pending": "old"}, "pending"),
        ({"max_pending": 0}, "max_pending"),
        ({"colour": "red"}, "body"),
    ],
)
def test_a_bandit_that_cannot_be_made_is_refused(shared_client: Client, change: dict[str, Any], field: str | None) -> None:
    problem(shared_client("PUT", "/v1/bandits/more", {**SONGS, **change}), 422, "invalid-value", field=field)
    assert "more" not in [each["name"] for each in shared_client("GET", "/v1/bandits").body["bandits"]]


@pytest.mark.parametrize("missing", ["policy", "arms"])
def test_a_new_bandit_needs_a_policy_and_arms(shared_client: Client, missing: str) -> None:
    body = {name: value for name, value in SONGS.items() if name != missing}
    refused = shared_client("PUT", "/v1/bandits/more", body)
    problem(refused, 422, "invalid-value", field="body")
    assert refused.body["rule"] == f"have the field {missing!r}"


def test_decisions_are_those_of_a_bandit(songs: Client) -> None:
    twin = rotting.Bandit(rotting.UCB1(sigma=0.5), arms=SONGS["arms"])
    for k in range(30):
        count = 1 + k % 3
        found, expected = decide(songs, count=count), twin.decide(count=count)
        for got, want in zip(found, expected, strict=True):
            assert (got["arm"], got["round"], got["propensity"]) == want[1:4]
            reason = {
                name: value if name == "rule" or math.isfinite(value) else None for name, value in want.reason._asdict().items()
            }
            assert got["reason"] == reason
            assert outcomes(songs, (got["id"], 0.25 * (k % 5))) == ["applied"]
            assert twin.reward(want.id, 0.25 * (k % 5)) == "applied"
    explanation = songs("GET", f"{BANDIT}/explain").body
    assert explanation["round"] == twin.rounds + 1
    assert {each.pop("arm"): each for each in explanation["arms"]} == {
        arm: each._asdict() for arm, each in twin.explain().items()
    }


def test_no_body_means_one_decision(songs: Client) -> None:
    response = songs("POST", f"{BANDIT}/decisions")
    assert response.status == 200
    assert [each["arm"] for each in response.body["decisions"]] == ["jazz"]


def test_a_decision_is_limited_to_some_arms_and_without_others(songs: Client) -> None:
    assert decide(songs, arms=["folk", "rock"], without=["rock"])[0]["arm"] == "folk"
    assert {each["arm"] for each in decide(songs, without=["rock"], count=2)} == {"jazz", "folk"}
    before = events(songs)
    for body, field in (
        ({"arms": ["pop"]}, "arm"),
        ({"without": ["pop"]}, "arm"),
        ({"arms": []}, "arms"),
        ({"without": SONGS["arms"]}, "without"),
        ({"count": 4}, "count"),
        ({"count": 0}, "count"),
        ({"count": True}, "count"),
        ({"count": "1"}, "count"),
        ({"count": 1.5}, "count"),
        ({"dry_run": 1}, "dry_run"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"key": "a"}, "body"),
    ):
        problem(songs("POST", f"{BANDIT}/decisions", body), 422, "invalid-value", field=field)
    assert events(songs) == before


def test_a_dry_run_changes_nothing(songs: Client) -> None:
    tried = decide(songs, dry_run=True, count=2)
    assert [each["id"] for each in tried] == [None, None]
    assert events(songs) == []
    made = decide(songs, count=2)
    assert [each | {"id": None} for each in made] == tried


def test_an_idempotency_key_returns_the_same_decision(songs: Client) -> None:
    first = decide(songs, idempotency_key="k", count=2)
    assert decide(songs, idempotency_key="k", count=2) == first
    other = songs("POST", f"{BANDIT}/decisions", {"idempotency_key": "k", "count": 1})
    problem(other, 409, "key-reused", field="idempotency_key", value='"k"')
    assert decide(songs, idempotency_key="l", count=2) != first
    assert songs("PUT", "/v1/bandits/more", SONGS).status == 201
    assert songs("POST", "/v1/bandits/more/decisions", {"idempotency_key": "k"}).status == 200  # keys are those of a bandit
    assert sum("event" in each for each in events(songs)) == 4


def test_an_idempotency_key_covers_every_field_of_the_request(songs: Client) -> None:
    request: dict[str, Any] = {"arms": ["jazz", "rock", "folk"], "without": ["jazz"], "count": 1, "idempotency_key": "k"}
    plain: dict[str, Any] = {"idempotency_key": "l"}
    made = [decide(songs, **request), decide(songs, **plain)]
    others: list[dict[str, Any]] = [
        {"count": 2},
        {"arms": ["jazz", "rock"]},
        {"arms": None},
        {"without": ["rock"]},
        {"without": None},
    ]
    for other in (
        *({**request, **each} for each in others),
        {**plain, "arms": request["arms"]},
        {**plain, "without": ["jazz"]},
    ):
        problem(songs("POST", f"{BANDIT}/decisions", other), 409, "key-reused", field="idempotency_key")
    assert [decide(songs, **request), decide(songs, **plain)] == made
    assert songs("GET", BANDIT).body["rounds"] == 2


def test_an_idempotency_key_survives_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot") as service:
        client = service.client()
        client("PUT", BANDIT, SONGS)
        first = decide(client, idempotency_key="schlüssel \U0001f600", count=2)
        assert outcomes(client, (first[0]["id"], 1.0)) == ["applied"]
        decide(client)
    with running(tmp_path / "songs.rot") as service:
        client = service.client()
        assert decide(client, idempotency_key="schlüssel \U0001f600", count=2) == first
        problem(client("POST", f"{BANDIT}/decisions", {"idempotency_key": "schlüssel \U0001f600"}), 409, "key-reused")
        assert outcomes(client, (first[0]["id"], 1.0), (first[0]["id"], 0.5)) == ["duplicate", "conflict"]
        assert client("GET", BANDIT).body["rounds"] == 3


def test_an_idempotency_key_can_be_cancelled(songs: Client) -> None:
    made = decide(songs, idempotency_key="k", count=2)
    assert outcomes(songs, (made[0]["id"], 1.0)) == ["applied"]
    for _ in range(2):
        response = songs("POST", f"{BANDIT}/cancellations", {"keys": ["k", "new"]})  # of which one was never used
        assert response.body["results"] == [{"id": key, "outcome": "applied"} for key in ("k", "new")]
    assert songs("GET", BANDIT).body["pending"] == 0
    for key, count in (("k", 2), ("new", 1)):
        refused = songs("POST", f"{BANDIT}/decisions", {"idempotency_key": key, "count": count})
        problem(refused, 409, "key-cancelled", field="idempotency_key", value=f'"{key}"')
    for body, got in (({}, "none"), ({"ids": ["a"], "keys": ["b"]}, "both")):
        problem(songs("POST", f"{BANDIT}/cancellations", body), 422, "invalid-value", field="ids or keys", value=got)


def test_a_key_of_learning_cannot_be_cancelled(songs: Client) -> None:
    made = decide(songs, idempotency_key="decided")
    learned = {"rewards": [{"arm": "jazz", "reward": 1.0}], "idempotency_key": "learned"}
    assert songs("POST", f"{BANDIT}/learning", learned).body == {"learned": 1}
    refused = songs("POST", f"{BANDIT}/cancellations", {"keys": ["decided", "learned"]})
    problem(refused, 422, "invalid-value", field="keys", value='"learned"')
    assert outcomes(songs, (made[0]["id"], 1.0)) == ["applied"]  # the other was not cancelled either


def test_a_key_that_says_that_it_is_too_old_decides_nothing(songs: Client) -> None:
    new, old = new_key(), f"rot-{int(time.time()) - KEY_LIFETIME - 60:08x}-0123456789abcdef"
    assert decide(songs, idempotency_key=new) == decide(songs, idempotency_key=new)
    refused = songs("POST", f"{BANDIT}/decisions", {"idempotency_key": old})
    problem(refused, 409, "key-expired", field="idempotency_key", value=f'"{old}"')
    assert songs("GET", BANDIT).body["rounds"] == 1


def test_a_retired_arm_may_be_left_out(songs: Client) -> None:
    songs("DELETE", f"{BANDIT}/arms/rock?keep=true")
    assert decide(songs, without=["rock", "jazz"])[0]["arm"] == "folk"


def test_a_page_of_the_log_is_bounded_in_bytes(client: Client) -> None:
    arms = [f"{'long name ' * 15}{k}" for k in range(400)]
    assert client("PUT", BANDIT, {**SONGS, "arms": arms}).status == 201
    for _ in range(60):
        decide(client, arms=arms[:190])
    sizes, after = [], 0
    while events := (page := client("GET", f"{BANDIT}/log?after={after}&limit=1000").body)["events"]:
        sizes.append(len(json.dumps(page)))
        after = page["next"]
        assert [each["number"] for each in events] == list(range(events[0]["number"], after + 1))
    assert after == 60
    assert len(sizes) > 1
    assert max(sizes) < 1.3 * (1 << 20)


def test_a_bandit_cannot_be_named_like_a_folder(client: Client) -> None:
    for name in (".", ".."):
        problem(client("PUT", f"/v1/bandits/{name}", SONGS), 422, "invalid-value", field="name in the path")


def test_every_outcome_of_a_reward(songs: Client) -> None:
    first, second, third = decide(songs, count=3)
    cancelled = songs("POST", f"{BANDIT}/cancellations", {"ids": [third["id"], "?"]})
    assert [each["outcome"] for each in cancelled.body["results"]] == ["applied", "unknown"]
    rewards = [(first["id"], 1.0), (first["id"], 1.0), (first["id"], 0.5), ("?", 1.0), (third["id"], 1.0)]
    assert outcomes(songs, *rewards) == ["applied", "duplicate", "conflict", "unknown", "expired"]
    expired = songs("POST", f"{BANDIT}/expirations", {"ids": [second["id"], first["id"]], "missing": 0.0})
    assert [each["outcome"] for each in expired.body["results"]] == ["applied", "conflict"]
    assert expired.body["expired"] == 1
    decide(songs)
    decide(songs)
    assert songs("POST", f"{BANDIT}/expirations", {"older_than_rounds": 0}).body == {
        "results": [],
        "expired": 1,
        "more": False,
    }
    for body, got in (({}, "none"), ({"ids": ["a"], "older_than_rounds": 1}, "ids and older_than_rounds")):
        field = "ids, older_than_rounds or older_than"
        problem(songs("POST", f"{BANDIT}/expirations", body), 422, "invalid-value", field=field, value=got)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", None),
        ("-1e999", None),
        ("1" * 400, None),
        ('"0.5"', '"0.5"'),
        ("true", "true"),
        ("null", "null"),
        ("[1]", "[1]"),
        ("{}", "{}"),
        ("1e101", "1e+101"),
    ],
)
def test_a_reward_that_is_no_number_is_refused(shared_client: Client, text: str, value: str | None) -> None:
    (made,) = decide(shared_client)
    body = f'[{{"id": "{made["id"]}", "reward": 1}}, {{"id": "{made["id"]}", "reward": {text}}}]'
    problem(shared_client("POST", f"{BANDIT}/rewards", body.encode()), 422, "invalid-value", field="[1].reward", value=value)
    assert outcomes(shared_client, (made["id"], 1.0)) == ["applied"]  # none of the batch was


def test_rewards_of_up_to_1e100_in_size_are_accepted(client: Client) -> None:
    assert client("PUT", BANDIT, SONGS).status == 201
    for sign in (1.0, -1.0):
        (made,) = decide(client)
        larger = [{"id": made["id"], "reward": sign * math.nextafter(1e100, math.inf)}]
        problem(client("POST", f"{BANDIT}/rewards", larger), 422, "invalid-value", field="[0].reward")
        assert outcomes(client, (made["id"], sign * 1e100)) == ["applied"]


def test_a_request_expires_at_most_ten_thousand_decisions(shared_client: Client) -> None:
    def expire(limit: int) -> Response:
        return shared_client("POST", f"{BANDIT}/expirations", {"older_than_rounds": 2**53, "limit": limit})

    assert expire(10_000).body == {"results": [], "expired": 0, "more": False}
    problem(expire(10_001), 422, "invalid-value", field="limit")


@pytest.mark.parametrize(
    ("longest", "request_of"),
    [
        (100, lambda text: ("POST", f"{BANDIT}/rewards", [{"id": text, "reward": 1.0}])),
        (100, lambda text: ("POST", f"{BANDIT}/expirations", {"ids": [text]})),
        (100, lambda text: ("PUT", f"/v1/bandits/{text}", SONGS)),
        (200, lambda text: ("POST", f"{BANDIT}/decisions", {"idempotency_key": text})),
        (200, lambda text: ("PUT", f"/v1/bandits/arm-{len(text)}", {**SONGS, "arms": [text]})),
    ],
)
def test_ids_names_keys_and_arms_have_a_longest_length(
    shared_client: Client, longest: int, request_of: Callable[[str], tuple[str, str, Any]]
) -> None:
    accepted, refused = (shared_client(*request_of("x" * length)) for length in (longest, longest + 1))
    assert accepted.status in {200, 201}, accepted
    problem(refused, 422, "invalid-value")


def test_a_reward_outside_the_range_of_the_policy_is_refused(client: Client) -> None:
    client("PUT", BANDIT, {"policy": "kl-ucb", "arms": ["a", "b"]})
    (made,) = decide(client)
    body = [{"id": made["id"], "reward": 0.5}, {"id": made["id"], "reward": 2}]
    problem(client("POST", f"{BANDIT}/rewards", body), 422, "invalid-value", field="[1].reward", value="2.0")
    missing = {"ids": [made["id"]], "missing": 2}
    problem(client("POST", f"{BANDIT}/expirations", missing), 422, "invalid-value", field="missing", value="2.0")
    assert outcomes(client, (made["id"], 1.0)) == ["applied"]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"", 400, "malformed-json"),
        (b"[", 400, "malformed-json"),
        (b'[{"id": "a", "reward": 1}] x', 400, "malformed-json"),
        (b"\xff", 400, "malformed-json"),
        (b'[{"id": "\xff", "reward": 1}]', 400, "malformed-json"),
        (b'[{"id": "\\ud800", "reward": 1}]', 400, "malformed-json"),
        (b"[" * 100_000, 422, "invalid-value"),
        (b'{"id": "a", "reward": 1}', 422, "invalid-value"),
        (b"[]", 422, "invalid-value"),
        (b'[{"id": "a"}]', 422, "invalid-value"),
        (b'[{"id": "a", "reward": 1, "arm": "b"}]', 422, "invalid-value"),
        (b'[{"id": 1, "reward": 1}]', 422, "invalid-value"),
        (json.dumps([{"id": "a", "reward": 1}] * 1_001).encode(), 422, "invalid-value"),
    ],
)
def test_a_body_that_is_no_batch_of_rewards_is_refused(shared_client: Client, body: bytes, status: int, kind: str) -> None:
    problem(shared_client("POST", f"{BANDIT}/rewards", body), status, kind)


def test_a_body_of_more_than_four_mebibytes_is_refused(service: Running) -> None:
    head = b"POST /v1/bandits/songs/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert service.raw(head + b"Content-Length: 4194305\r\n\r\n").startswith(b"HTTP/1.1 413 ")
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    sent = head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + 5 * chunk + b"0\r\n\r\n"
    assert service.raw(sent).startswith(b"HTTP/1.1 413 ")


def test_arms_come_and_go(songs: Client) -> None:
    problem(songs("PUT", f"{BANDIT}/arms/pop", {"prior": "pooled"}), 422, "invalid-value", field="prior")
    added = songs("PUT", f"{BANDIT}/arms/hip%20hop%2F")
    assert (added.status, added.body["arms"]) == (201, ["jazz", "rock", "folk", "hip hop/"])
    assert songs("PUT", f"{BANDIT}/arms/jazz").status == 200  # there already
    assert songs("PUT", f"{BANDIT}/arms/pop", {"prior": [0.5, 2]}).status == 201
    kept = songs("DELETE", f"{BANDIT}/arms/pop?keep=true")
    assert (kept.status, kept.body["retired"]) == (200, ["pop"])
    problem(songs("DELETE", f"{BANDIT}/arms/pop?keep=true"), 404, "not-found", field="arm")
    revived = songs("PUT", f"{BANDIT}/arms/pop", {"resume": True})
    assert (revived.status, revived.body["retired"]) == (201, [])
    assert songs("DELETE", f"{BANDIT}/arms/pop").body == {"arms": ["jazz", "rock", "folk", "hip hop/"], "retired": []}
    problem(songs("DELETE", f"{BANDIT}/arms/pop"), 404, "not-found", field="arm", value="'pop'")
    problem(songs("PUT", f"{BANDIT}/arms/pop", {"resume": True}), 422, "invalid-value", field="resume")
    for arm in ("jazz", "rock", "folk"):
        assert songs("DELETE", f"{BANDIT}/arms/{arm}").status == 200
    problem(songs("DELETE", f"{BANDIT}/arms/hip%20hop%2F"), 409, "last-arm", field="arm")


def test_an_archived_bandit_decides_no_more(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot") as service:
        client = service.client()
        client("PUT", BANDIT, SONGS)
        (made,) = decide(client)
        for _ in range(2):
            assert client("POST", f"{BANDIT}/archive").body["archived"] is True
    with running(tmp_path / "songs.rot") as service:
        client = service.client()
        assert [each["archived"] for each in client("GET", "/v1/bandits").body["bandits"]] == [True]
        for method, path, body in (
            ("POST", "decisions", None),
            ("POST", "rewards", [{"id": made["id"], "reward": 1}]),
            ("POST", "cancellations", {"ids": [made["id"]]}),
            ("POST", "expirations", {"ids": [made["id"]]}),
            ("PUT", "arms/pop", None),
            ("DELETE", "arms/jazz", None),
        ):
            problem(client(method, f"{BANDIT}/{path}", body), 409, "archived", field="bandit")
        assert client("GET", BANDIT).body["archived"] is True
        assert len(client("GET", f"{BANDIT}/explain").body["arms"]) == 3
        assert [each["event"] for each in events(client)] == ["decided"]


def test_the_log_is_read_page_by_page(songs: Client) -> None:
    songs("PUT", "/v1/bandits/more", SONGS)
    for _ in range(5):
        decide(songs)
        songs("POST", "/v1/bandits/more/decisions")
    found, after = [], 0
    while True:
        page = songs("GET", f"{BANDIT}/log?after={after}&limit=2").body
        found += page["events"]
        assert page["next"] >= after
        if not page["events"]:
            break
        after = page["next"]
    assert [each["payload"]["round"] for each in found] == [1, 2, 3, 4, 5]
    assert [each["number"] for each in found] == [1, 2, 3, 4, 5]  # each bandit has its own log
    for query, field in (("after=-1", "after"), ("after=x", "after"), ("limit=0", "limit"), ("limit=1001", "limit")):
        problem(songs("GET", f"{BANDIT}/log?{query}"), 422, "invalid-value", field=field)
    problem(songs("GET", f"{BANDIT}/log?after=1&after=2"), 422, "invalid-value", field="query")
    problem(songs("GET", f"{BANDIT}/log?before=1"), 422, "invalid-value")
    problem(songs("GET", f"{BANDIT}/log?after"), 400, "bad-request", field="query")
    problem(songs("GET", f"{BANDIT}?after=1"), 422, "invalid-value", field="query")


def test_bandits_are_listed_page_by_page(client: Client) -> None:
    for name in "cab":
        client("PUT", f"/v1/bandits/{name}", SONGS)
    first = client("GET", "/v1/bandits?limit=2").body
    assert ([each["name"] for each in first["bandits"]], first["next"]) == (["a", "b"], "b")
    second = client("GET", "/v1/bandits?limit=2&after=b").body
    assert ([each["name"] for each in second["bandits"]], second["next"]) == (["c"], None)
    complete = client("GET", "/v1/bandits?limit=3").body
    assert ([each["name"] for each in complete["bandits"]], complete["next"]) == (
        ["a", "b", "c"],
        None,
    )  # full, and the last one
    beyond = client("GET", "/v1/bandits?limit=3&after=c").body
    assert (beyond["bandits"], beyond["next"]) == ([], None)


@pytest.mark.parametrize("path", ["", "/decisions", "/rewards", "/explain", "/log", "/archive", "/arms/a"])
def test_a_bandit_that_was_not_made_is_not_found(shared_client: Client, path: str) -> None:
    method, body = {
        "/decisions": ("POST", None),
        "/rewards": ("POST", [{"id": "a", "reward": 1}]),
        "/archive": ("POST", None),
    }.get(path, ("DELETE" if "arms" in path else "GET", None))
    problem(shared_client(method, f"/v1/bandits/none{path}", body), 404, "not-found", field="bandit", value="'none'")


def test_other_paths_methods_and_kinds_are_refused(shared_client: Client) -> None:
    for path in ("/v2", "/v2/bandits", "/v1/bandits/a/"):
        problem(shared_client("GET", path), 404, "not-found", field="path")
    for path in ("/v1/bandits/%ff", "/v1/bandits/a%20b", f"/v1/bandits/{'a' * 101}"):
        problem(shared_client("GET", path), 422, "invalid-value", field="name in the path")
    wrong = shared_client("POST", BANDIT)
    problem(wrong, 405, "method-not-allowed", field="method", value="POST")
    assert wrong.headers["allow"] == "DELETE, GET, HEAD, PATCH, PUT"
    problem(shared_client("POST", f"{BANDIT}/rewards", b"[]", Content_Type="text/plain"), 415, "unsupported-media-type")
    assert shared_client("POST", f"{BANDIT}/rewards", b"[]", Content_Type="Application/JSON; charset=utf-8").status == 422
    problem(shared_client("GET", BANDIT, {"a": 1}), 400, "bad-request", field="body")


def test_head_is_get_without_a_body(shared_client: Client) -> None:
    head, get = shared_client("HEAD", BANDIT), shared_client("GET", BANDIT)
    assert (head.status, head.body) == (200, b"")
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}


def test_a_token_allows_only_the_routes_of_its_scopes(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    by_scope = {scope: new_token(file, scope, [scope]) for scope in ("decide", "reward", "admin", "read")}
    with running(tmp_path / "songs.rot", token_file=str(file)) as service:
        calls: dict[str, list[tuple[str, str, Any]]] = {
            "admin": [("PUT", BANDIT, SONGS), ("PUT", f"{BANDIT}/arms/pop", None), ("DELETE", f"{BANDIT}/arms/pop", None)],
            "decide": [("POST", f"{BANDIT}/decisions", None), ("POST", f"{BANDIT}/cancellations", {"ids": ["a"]})],
            "reward": [
                ("POST", f"{BANDIT}/rewards", [{"id": "a", "reward": 1}]),
                ("POST", f"{BANDIT}/expirations", {"ids": ["a"]}),
            ],
            "read": [("GET", path, None) for path in ("/v1/bandits", BANDIT, f"{BANDIT}/explain", f"{BANDIT}/log", "/metrics")],
        }
        for scope, requests in calls.items():
            for request in requests:
                for other, token in by_scope.items():
                    response = service.client(token)(*request)
                    if other == scope:
                        assert response.status in {200, 201}, (request, response)
                    else:
                        problem(response, 403, "forbidden", field="scope")
                for wrong in (None, "", "rot_x", by_scope[scope][:-1]):
                    refused = service.client(wrong)(*request)
                    problem(refused, 401, "unauthorized", field="Authorization")
                    assert refused.headers["www-authenticate"] == "Bearer"
        for path in ("/livez", "/readyz", "/openapi.json"):
            assert service.client()("GET", path).status == 200
        both = service.client(by_scope["read"])
        assert both("GET", BANDIT).status == 200
        assert both("GET", BANDIT, Authorization=f"Basic {by_scope['read']}").status == 401
        assert both("GET", BANDIT, Authorization=f"bearer {by_scope['read']}").status == 200


def test_a_request_that_takes_too_long_gets_503(tmp_path: Path) -> None:
    with running(tmp_path / "songs.rot", deadline=0.2) as running_:
        client = running_.client()
        assert client("PUT", BANDIT, SONGS).status == 201
        with running_.service.database.transaction():  # which keeps every turn waiting
            problem(client("POST", f"{BANDIT}/decisions"), 503, "timed-out")
        assert client("GET", BANDIT).body["rounds"] <= 1


def test_an_unexpected_error_is_logged_and_told_by_its_type_alone(
    service: Running, songs: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("rotting.server.store.turns.RecordedBandit.decide", fails)
    failed = songs("POST", f"{BANDIT}/decisions")
    problem(failed, 500, "internal")
    assert failed.body["detail"] == "the service failed: RuntimeError; see its log"
    (record,) = [each for each in caplog.records if each.name == "rotting.server" and each.exc_info]
    assert record.getMessage() == f"POST {BANDIT}/decisions failed"
    assert "a secret" in caplog.text


def test_a_long_explanation_has_every_arm_once(client: Client) -> None:
    arms = [f"a{k}" for k in range(2_001)]  # more than are encoded at a time
    assert client("PUT", BANDIT, {**SONGS, "arms": arms}).status == 201
    response = client("GET", f"{BANDIT}/explain")
    assert (response.body["round"], [each["arm"] for each in response.body["arms"]]) == (1, arms)


def test_health_and_metrics(songs: Client) -> None:
    assert songs("GET", "/livez").body == {"status": "alive"}
    assert songs("GET", "/readyz").body == {"status": "ready"}
    (made,) = decide(songs)
    decide(songs)
    outcomes(songs, (made["id"], 1.0), (made["id"], 1.0))
    text = songs("GET", "/metrics").body.decode()
    for line in (
        'rotting_rewards_total{outcome="applied"} 1.0',
        'rotting_rewards_total{outcome="duplicate"} 1.0',
        'rotting_events_total{event="decided"} 2.0',
        'rotting_events_total{event="rewarded"} 1.0',
        "rotting_bandits 1.0",
    ):
        assert f"\n{line}\n" in text, line


def test_responses_are_counted_by_their_status(client: Client) -> None:
    for path in ("/livez", "/nowhere", "/livez"):
        client("GET", path)
    lines = client("GET", "/metrics").body.decode().splitlines()
    counted = {line for line in lines if line.startswith("rotting_responses_total")}
    assert counted == {
        'rotting_responses_total{path="/livez",status="200"} 2.0',
        'rotting_responses_total{path="other",status="404"} 1.0',
    }


def test_a_durable_request_runs_code_of_few_modules(tmp_path: Path) -> None:
    """At most 28 modules of the library: whoever reads how a decision is made and stored has these to read."""
    package = str(Path(rotting.__file__).parent)
    modules: set[str] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            modules.add(frame.f_code.co_filename)

    threading.setprofile(profile)  # for the threads that the service starts
    try:
        with running(tmp_path / "songs.rot") as service:
            client = service.client()
            body = {"policy": "eff-raw-ucb", "params": {"sigma": 0.5}, "arms": ["jazz", "rock"]}
            assert client("PUT", BANDIT, body).status == 201
            (made,) = decide(client)  # which loads and compiles
            modules.clear()
            decide(client, idempotency_key=new_key())
            assert 10 < len(modules) <= 28, sorted(modules)
            modules.clear()
            assert outcomes(client, (made["id"], 1.0)) == ["applied"]
            assert 10 < len(modules) <= 28, sorted(modules)
    finally:
        threading.setprofile(None)


def test_a_database_that_is_away_is_logged_once(
    service: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looked = threading.Semaphore(0)

    def fail(now: int) -> list[str]:
        looked.release()
        raise StoreFailedError("cannot be reached", "postgresql://db/songs")

    monkeypatch.setattr(service.service.database, "due", fail)
    assert all(looked.acquire(timeout=30) for _ in range(3))  # the third time it has got over the second
    message = "regular checks wait for the store: postgresql://db/songs cannot be reached"
    assert [each.getMessage() for each in caplog.records] == [message]


# --- Settings ---------------------------------------------------------------------------------------------------------------


def test_settings_are_changed_and_logged(songs: Client) -> None:
    waiting = decide(songs)[0]
    body = {"params": {"sigma": 0.25}, "reward_window": "1h", "caps": {"jazz": 0.4}, "holdout": 0.1, "reason": "contract"}
    changed = songs("PATCH", BANDIT, body)
    shown = {"params": {"sigma": 0.25}, "reward_window": 3600.0, "missing": 0.0, "caps": {"jazz": 0.4}, "holdout": 0.1}
    assert {name: changed.body[name] for name in shown} == shown
    events = songs("GET", f"{BANDIT}/log").body["events"]
    assert events[-1]["payload"] == {
        "event": "changed", "policy": {"policy": "ucb1", "params": {"sigma": 0.25}}, "reward_window": 3600.0, "missing": 0.0,
        "holdout": 0.1, "caps": [["jazz", 0.4]], "reason": "contract",
    }  # fmt: skip
    assert songs("PATCH", BANDIT, body).status == 200  # nothing to change any more
    assert len(songs("GET", f"{BANDIT}/log").body["events"]) == len(events)
    assert outcomes(songs, (waiting["id"], 1.0)) == ["applied"]
    assert songs("PATCH", BANDIT, {"policy": "uniform"}).body["draws"] is True
    assert songs("PUT", BANDIT, SONGS).status == 200  # the arguments that it was made with
    assert (
        songs("PUT", BANDIT, {**SONGS, "policy": "uniform", "params": {}, "reward_window": "1h", "holdout": 0.1}).status == 200
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "change"),
        ({"params": {"alhpa": 1.0}}, "setting"),
        ({"params": {"sigma": -1.0}}, "sigma"),
        ({"policy": "ucb2"}, "policy"),
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": "5%"}, "holdout"),
        ({"reward_window": "soon"}, "reward_window"),
        ({"missing": 0.5}, "missing"),
        ({"max_pending": 0}, "max_pending"),
        ({"caps": {"jazz": 0.0}}, "caps"),
        ({"caps": {"pop": 0.5}}, "arm"),
        ({"floors": {"jazz": 0.7, "rock": 0.7}}, "floors"),
        ({"paused": ["jazz", "rock", "folk"]}, "paused"),
        ({"paused": "jazz"}, "paused"),
        ({"holdout": 0.1, "reason": "x" * 1_001}, "reason"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_change_is_refused_with_a_sentence(songs: Client, body: dict[str, Any], field: str) -> None:
    found = songs("PATCH", BANDIT, body)
    assert (found.status, found.body["type"]) == (422, "urn:rotting:problem:invalid-value")
    assert field in found.body["detail"]
    assert songs("GET", f"{BANDIT}/log").body["events"] == []


def test_an_arm_is_paused_and_resumed(songs: Client) -> None:
    assert songs("PUT", f"{BANDIT}/pauses/jazz", {"reason": "broken"}).body["paused"] == ["jazz"]
    assert {each["arm"]: each["rule"] for each in songs("GET", f"{BANDIT}/explain").body["arms"]}["jazz"] == "paused"
    assert {decide(songs)[0]["arm"] for _ in range(6)} == {"rock", "folk"}
    assert songs("DELETE", f"{BANDIT}/pauses/jazz").body["paused"] == []
    problem(songs("PUT", f"{BANDIT}/pauses/pop"), 422, "invalid-value", field="arm")
    songs("POST", f"{BANDIT}/archive")
    problem(songs("PUT", f"{BANDIT}/pauses/jazz"), 409, "archived", field="bandit")
    problem(songs("PATCH", BANDIT, {"holdout": 0.1}), 409, "archived", field="bandit")
    problem(songs("PATCH", "/v1/bandits/none", {"holdout": 0.1}), 404, "not-found", field="bandit")


def test_past_rewards_are_learned_once(songs: Client) -> None:
    body = {"rewards": [{"arm": "jazz", "reward": 1.0}, {"arm": "rock", "reward": 0.0}], "idempotency_key": "once"}
    for _ in range(2):
        assert songs("POST", f"{BANDIT}/learning", body).body == {"learned": 2}
    assert songs("GET", BANDIT).body["rounds"] == 2
    unknown = {"rewards": [{"arm": "pop", "reward": 1.0}]}
    assert songs("POST", f"{BANDIT}/learning", unknown).status == 422
    assert songs("POST", f"{BANDIT}/learning", {**unknown, "unknown": "skip"}).body == {"learned": 0}
    problem(songs("POST", f"{BANDIT}/learning", {**unknown, "idempotency_key": "once"}), 409, "key-reused")


def test_uplift_is_shown(songs: Client) -> None:
    problem(songs("GET", f"{BANDIT}/uplift"), 422, "invalid-value", field="holdout")
    songs("PATCH", BANDIT, {"holdout": 0.5})
    found = songs("GET", f"{BANDIT}/uplift").body
    assert found == {
        "difference": None, "low": -1.0, "high": 1.0, "policy": None, "uniform": None, "rewards": [0, 0],
        "verdict": "too early to tell",
    }  # fmt: skip
    for _ in range(40):
        outcomes(songs, (decide(songs)[0]["id"], 0.5))
    found = songs("GET", f"{BANDIT}/uplift?low=0&high=2").body
    assert (found["policy"], found["uniform"], sum(found["rewards"])) == (0.5, 0.5, 40)
    problem(songs("GET", f"{BANDIT}/uplift?low=3&high=2"), 422, "invalid-value", field="reward_range")


def test_a_reply_says_when_max_pending_is_reached(songs: Client) -> None:
    songs("PATCH", BANDIT, {"max_pending": 2})
    found = [songs("POST", f"{BANDIT}/decisions").headers.get("rotting-pending") for _ in range(3)]
    assert found == [None, "full", "full"]
    songs("PATCH", BANDIT, {"max_pending": None})
    assert "rotting-pending" not in songs("POST", f"{BANDIT}/decisions").headers
