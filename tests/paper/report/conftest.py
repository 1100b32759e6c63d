"""A report that is written once for all the tests that look at it."""

from pathlib import Path

import pytest

from rotting.paper.report import writer
from tests.helpers.html_reader import Reader
from tests.helpers.sections import ABOUT, sections


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    where = tmp_path_factory.mktemp("report")
    assert writer.write(sections(), where, ABOUT) == where / "report.html"
    return where


@pytest.fixture(scope="session")
def text(folder: Path) -> str:
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture(scope="session")
def reader(text: str) -> Reader:
    return Reader(text)
