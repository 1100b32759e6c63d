"""Tables for people: aligned, escaped, and with the digits that intervals support."""

from rotting.display.tables import number_format


def test_number_format_of_zeros() -> None:
    assert number_format([0.0, 0.0], [0.0]) == ".1f"
