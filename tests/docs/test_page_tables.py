"""The tables of the pages, and the marks of measured parts."""

from pathlib import Path

from docs.page_tables import fill, table


def test_a_table_is_aligned_as_plain_text() -> None:
    assert table(["arm", "a", "reward"], [["x", "yes", "0.5"]], "lcr") == (
        "| arm |  a  | reward |\n"
        "| :-- | :-: | -----: |\n"
        "| x   | yes |    0.5 |"
    )  # fmt: skip


def test_only_the_text_between_the_marks_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured: one -->\nold\n<!-- end -->\nafter\n<!-- measured: two -->\n<!-- end -->\n", "utf-8")
    for _ in range(2):
        fill(page, {"one": "new", "not shown": "text"})
        assert page.read_text("utf-8") == (
            "before\n<!-- measured: one -->\nnew\n<!-- end -->\nafter\n<!-- measured: two -->\n<!-- end -->\n"
        )
