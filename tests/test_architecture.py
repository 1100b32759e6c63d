"""ARCHITECTURE.md names files and folders that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_what_the_map_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)*(?:[a-z_]+\.py|[a-z_]+\.toml|[a-z_]+/))`", text))
    assert len(named) > 25
    inner = {"engines/": "simulation", "parts/": "policies", "kernels/": "policies"}
    places = {name: [ROOT / "src" / "rotting" / inner.get(name, "") / name, ROOT / name] for name in named}
    assert [name for name, paths in places.items() if not any(path.exists() for path in paths)] == []


def test_the_map_has_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = {path.parent.name for path in (ROOT / "src" / "rotting").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `([a-z]+)/`", text, re.MULTILINE))
