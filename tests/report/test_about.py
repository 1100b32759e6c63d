"""Versions and machine, as the report names them."""

from pathlib import Path

import numpy as np
import pytest

from rotting import report


def test_versions_and_machine() -> None:
    assert report.versions()["NumPy"] == np.__version__
    assert all(report.machine().values())


@pytest.mark.parametrize("content", ["processor : 0\nmodel name\t: A  CPU @ 3 GHz\n", "processor : 0\n", None])
def test_the_processor_is_named_or_at_least_its_architecture(tmp_path: Path, content: str | None) -> None:
    from rotting.report.about import _processor

    if content is not None:
        (tmp_path / "cpuinfo").write_text(content)
    name = _processor(tmp_path / "cpuinfo")
    assert name == "A CPU @ 3 GHz" if content and "model" in content else name
