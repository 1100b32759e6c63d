"""What docs/guides/late-rewards.md shows of reward windows is so: the table and the claims, from the figures that were kept."""

from docs import make_windows as maker
from docs.make_delays import error_bar
from docs.page_tables import filled

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/guides/late-rewards.md is stale: run `make windows` and commit it"


def test_the_table_is_made_of_the_kept_figures() -> None:
    found = maker.kept_figures()
    assert list(found) == list(maker.WAYS)
    assert filled(PAGE, maker.parts(found)) == PAGE, STALE


def test_the_claims_are_those_of_the_figures() -> None:
    held, window, at_once, arrival, window_at_once = maker.kept_figures().values()
    assert window.mean() <= 1.05 * held.mean()
    assert (at_once - held).mean() > error_bar(at_once - held)
    assert window_at_once.tolist() == arrival.tolist()


def test_a_game_is_the_one_that_was_measured() -> None:
    delay, window, report = maker.WAYS["all outcomes at once, learned on arrival"]
    first = maker.kept_figures()["all outcomes at once, learned on arrival"][0]
    assert round(maker.regret(0, delay, window, report()), 4) == first, STALE
