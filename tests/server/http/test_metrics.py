"""What is counted."""

import json
import re
import time
from pathlib import Path

from rotting.server.store.events import BanditRecord
from tests.helpers.services import SONGS, Client, Running


def record_of(service: Running, name: str) -> BanditRecord:
    found = service.service.database.find(name)
    assert found is not None
    return found


def test_the_first_hundred_bandits_that_are_not_archived_have_series_of_their_own(service: Running, client: Client) -> None:
    for k in range(103):
        client("PUT", f"/v1/bandits/b{k:03d}", SONGS)
        client("POST", f"/v1/bandits/b{k:03d}/decisions", {"count": 2})
    for name in ("b000", "b050"):
        client("POST", f"/v1/bandits/{name}/archive")
    service.service.observer.look(at_once=True)
    assert service.service.observer.verdicts(record_of(service, "b101")) is not None
    assert service.service.observer.verdicts(record_of(service, "b102")) is None
    text = client("GET", "/metrics").body.decode()
    shown = re.findall(r'rotting_log_decisions{bandit="([^"]+)"} (.+)', text)
    assert shown == [(f"b{k:03d}", "2.0") for k in range(102) if k not in {0, 50}]
    assert '\nrotting_events_total{event="decided"} 206.0\n' in text
    assert "\nrotting_bandits 103.0\n" in text


def test_paths_are_counted_without_their_names(client: Client) -> None:
    for name in ("a", "b"):
        client("GET", f"/v1/bandits/{name}")
    text = client("GET", "/metrics").body.decode()
    assert 'rotting_responses_total{path="/v1/bandits/{name}",status="404"} 2.0' in text


def test_series_of_the_log_are_what_the_history_says(service: Running, client: Client) -> None:
    client("PUT", "/v1/bandits/ads", {**SONGS, "reward_window": "1h", "keep": "90d", "max_pending": 100})
    for k in range(60):
        made = client("POST", "/v1/bandits/ads/decisions").body["decisions"][0]
        if k < 40:
            client("POST", "/v1/bandits/ads/rewards", [{"id": made["id"], "reward": float(k % 3 == 0)}])
    service.service.observer.look(at_once=True)
    text, found = client("GET", "/metrics").body.decode(), client("GET", "/v1/bandits/ads/history").body
    series = dict(re.findall(r'rotting_log_(\w+){bandit="ads"} (.+)', text))
    assert float(series["mean"]) == found["totals"]["mean"] == 14 / 40
    expected = {"decisions": 60, "settled": 40, "lost": 0, "pending": 20, "pending_limit": 100, "worn_arms": 0, "events": 100}
    assert {name: float(series[name]) for name in expected} == expected
    assert float(series["keep_seconds"]) == 90 * 86_400
    assert 0 <= float(series["oldest_pending_seconds"]) < 60
    older = re.findall(r'rotting_log_pending_older{bandit="ads",seconds="(\d+)"} (.+)', text)
    assert older == [("60", "0.0"), ("600", "0.0"), ("3600", "0.0"), ("86400", "0.0")]
    with service.service.histories.read_on(record_of(service, "ads")) as (counted, _):
        assert counted.pending.older_than(time.time() + 1) == 20
    waits = re.search(r"\nrotting_turn_wait_seconds_count (.+)", text)
    assert waits is not None
    assert float(waits[1]) == 101  # the bandit, its decisions and their rewards
    arms = client("GET", "/v1/bandits/ads/arms").body["arms"]
    for row in arms:
        own = dict(re.findall(rf'rotting_arm_(\w+){{arm="{row["arm"]}",bandit="ads"}} (.+)', text))
        assert (float(own["decisions"]), float(own["share"]), float(own["worn"])) == (row["plays"], row["share"], 0.0)
        if row["rewards"]:
            assert float(own["mean_low"]) <= float(own["mean"]) == row["overall"] < float(own["mean_high"])


def test_the_rules_and_the_board_name_series_that_exist(service: Running, client: Client) -> None:
    client("PUT", "/v1/bandits/ads", {**SONGS, "keep": "90d"})
    for _ in range(6):
        made = client("POST", "/v1/bandits/ads/decisions").body["decisions"][0]
        client("POST", "/v1/bandits/ads/rewards", [{"id": made["id"], "reward": 1.0}])
    service.service.observer.look(at_once=True)
    text = client("GET", "/metrics").body.decode()
    known = set(re.findall(r"^(rotting_\w+)", text, re.MULTILINE))
    deploy = Path(__file__).parents[3] / "deploy"
    for file in ("prometheus-rules.yml", "grafana.json"):
        named = set(re.findall(r"rotting_\w+", (deploy / file).read_text()))
        assert named - known == set()
        assert len(named) > 5
    board = json.loads((deploy / "grafana.json").read_text())
    for panel in board["panels"]:
        names = set(re.findall(r"rotting_\w+", json.dumps(panel["targets"])))
        seconds = {name for name in names if "seconds" in name}
        assert names
        assert (panel["fieldConfig"]["defaults"]["unit"] == "s") == (seconds == names)
