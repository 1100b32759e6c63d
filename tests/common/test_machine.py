"""The machine is named."""

from pathlib import Path

import pytest

from rotting.common.machine import _processor, machine


def test_every_part_is_named() -> None:
    assert all(machine().values())


@pytest.mark.parametrize("content", ["processor : 0\nmodel name\t: A  CPU @ 3 GHz\n", "processor : 0\n", None])
def test_the_processor_is_named_or_at_least_its_architecture(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "cpuinfo").write_text(content)
    name = _processor(tmp_path / "cpuinfo")
    assert name == "A CPU @ 3 GHz" if content and "model" in content else name
