"""Every block of code of the site is run, or a table says why not."""

import ast
from pathlib import Path

import pytest

import rotting
from tests.helpers import shell
from tests.helpers.blocks import CELL, EXCUSED, ROOT, RUN_BY, Block, blocks, pages, skipped

BLOCKS = [each for page in pages() for each in blocks(page)]
SCRIPTS = [each for each in BLOCKS if each.is_shell and each.run_by is None]
NEEDS_FILES = {"batteries.py", "news.py", "yahoo.py"}  # data that may not be passed on, or is too large


def is_collected(page: str, config: pytest.Config) -> bool:
    """Whether pytest runs the doctests of a page."""
    tested = any(Path(page).match(each) or Path(page).is_relative_to(each) for each in config.getini("testpaths"))
    return tested and any(Path(page).match(each) for each in config.getoption("doctestglob"))


def test_every_block_is_run_or_excused(pytestconfig: pytest.Config) -> None:
    def is_run(each: Block) -> bool:
        return (each.is_doctest and is_collected(each.page, pytestconfig)) or each.language == CELL or each.is_shell

    missing = [each for each in BLOCKS if not is_run(each) and each.run_by is None and each.excuse is None]
    assert missing == []


def test_the_tables_name_blocks_and_tests_that_are_there() -> None:
    for page, start in [*RUN_BY, *EXCUSED]:
        if page.startswith("rotting."):
            text = getattr(rotting, page.removeprefix("rotting.")).__doc__
            assert f"::\n\n        {start}" in text
        else:
            assert sum(each.text.startswith(start) for each in blocks(page)) == 1, (page, start)
    for test in set(RUN_BY.values()):
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test


def test_no_doctest_is_skipped_but_those_that_need_files() -> None:
    assert [each for each in BLOCKS if each.is_doctest and skipped(each.text)] == []
    sources = (ROOT / "src").rglob("*.py")
    assert {path.name for path in sources if "doctest: +SKIP" in path.read_text("utf-8")} == NEEDS_FILES


def test_code_of_other_libraries_is_python() -> None:
    for each in BLOCKS:
        if "compiled only" in (each.excuse or ""):
            compile(each.text, each.page, "exec")


@pytest.mark.slow
@shell.needs_bash
@pytest.mark.parametrize("page", sorted({each.page for each in SCRIPTS}))
def test_scripts_work(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with rotting.open("songs.rot", rotting.UCB1(), arms=["jazz", "rock"]) as bandit:  # what pages copy and look into
        bandit.decide()
    rows = [f"{creative},{k % 3},{(k + len(creative)) % 2}" for k in range(20) for creative in ("sale", "beach", "logo")]
    Path("clicks.csv").write_text("\n".join(["creative,country,clicked", *rows, ""]), "utf-8")
    for each in SCRIPTS:
        if each.page == page:
            for command in shell.commands(each.text):
                shell.play(command, tmp_path, monkeypatch)


def test_a_script_with_a_mistake_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = ["rotting simulate --polcy ucb1", "pip install '.[serivce]'", "make sight", "docker compose run --rm web token x"]
    for script in wrong:
        (command,) = shell.commands(script)
        with pytest.raises(AssertionError):
            shell.play(command, tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match="not found"):
        shell.commands("rm -r .")
