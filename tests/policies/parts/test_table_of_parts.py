"""The table in the docstring of `rotting.policies.parts` lists every part."""

from pathlib import Path

from rotting.policies import parts


def test_every_part_is_described() -> None:
    assert parts.__doc__ is not None
    described = [line.split()[0] for line in parts.__doc__.splitlines() if line.startswith("    ")]
    modules = [path.stem for path in Path(parts.__path__[0]).glob("*.py") if path.stem != "__init__"]
    assert sorted(described) == sorted(modules)
