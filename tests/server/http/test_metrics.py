"""What is counted."""

import re

from tests.helpers.services import SONGS, Client


def test_only_a_hundred_bandits_have_series_of_their_own(client: Client) -> None:
    for k in range(103):
        client("PUT", f"/v1/bandits/b{k:03d}", SONGS)
        client("POST", f"/v1/bandits/b{k:03d}/decisions", {"count": 2})
    text = client("GET", "/metrics").body.decode()
    shown = re.findall(r'rotting_decisions_total{bandit="([^"]+)"} (.+)', text)
    assert shown == [(f"b{k:03d}", "2.0") for k in range(3, 103)]
    assert '\nrotting_events_total{event="decided"} 206.0\n' in text
    assert "\nrotting_bandits 103.0\n" in text


def test_paths_are_counted_without_their_names(client: Client) -> None:
    for name in ("a", "b"):
        client("GET", f"/v1/bandits/{name}")
    text = client("GET", "/metrics").body.decode()
    assert 'rotting_responses_total{path="/v1/bandits/{name}",status="404"} 2.0' in text
