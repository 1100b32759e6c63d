"""The tables of the pages, and the marks of measured parts."""

import pytest

from docs.page_tables import filled, table


def test_a_table_is_aligned_as_plain_text() -> None:
    assert table(["arm", "a", "reward"], [["x", "yes", "0.5"]], "lcr") == (
        "| arm |  a  | reward |\n"
        "| :-- | :-: | -----: |\n"
        "| x   | yes |    0.5 |"
    )  # fmt: skip


def test_only_the_text_between_the_marks_changes() -> None:
    page = "before\n<!-- measured: one -->\nold\n<!-- end -->\nafter\n<!-- measured: two -->\n<!-- end -->\n"
    expected = "before\n<!-- measured: one -->\nnew\n<!-- end -->\nafter\n<!-- measured: two -->\n<!-- end -->\n"
    assert filled(page, {"one": "new"}) == expected
    assert filled(expected, {"one": "new"}) == expected


def test_a_page_without_the_mark_is_refused() -> None:
    with pytest.raises(AssertionError, match="the page must have the mark 'three' once"):
        filled("text\n", {"three": "new"})
