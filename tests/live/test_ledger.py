"""The parts of a ledger: the rewards of the last closed decisions."""

import pytest

from rotting.live.ledger import Entry, Ledger


@pytest.mark.parametrize("most", [1, 2, 7])
def test_only_the_latest_closed_decisions_are_kept(most: int) -> None:
    ledger = Ledger(most)
    for k in range(20):
        entry = Entry(f"{k:x}", 0, k, 1.0)
        ledger.add(entry)
        ledger.close(entry, None if k % 7 == 0 else k / 2)
        kept = range(max(0, k + 1 - most), k + 1)
        assert list(ledger.closed.items()) == [(f"{j:x}", None if j % 7 == 0 else j / 2) for j in kept]
        assert list(Ledger(most, ledger.closed.items()).closed) == list(ledger.closed)


def test_a_copy_is_independent() -> None:
    ledger = Ledger(3)
    first, second = Entry("one", 0, 1, 1.0), Entry("two", 0, 2, 1.0)
    ledger.add(first)
    twin = ledger.copy()
    twin.close(first, 0.5)
    ledger.add(second)
    assert (ledger.first(0), twin.first(0)) == (first, None)
    assert (list(ledger.closed), list(twin.closed)) == ([], ["one"])
    assert ledger.entries_of(0) == [first, second]
