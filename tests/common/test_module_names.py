"""Names that a module does not have."""

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "wrong", "right"),
    [
        ("datasets", "battery", "batteries"),
        ("kit", "byindex", "by_index"),
        ("problems", "TwoArms", "two_arms"),
        ("theory", "HardFamilies", "HardFamily"),
    ],
)
def test_a_wrong_name_in_a_public_module_gets_a_suggestion(module: str, wrong: str, right: str) -> None:
    found = importlib.import_module(f"rotting.{module}")
    with pytest.raises(AttributeError, match=f"^module 'rotting.{module}' has no attribute '{wrong}'; did you mean '{right}'?"):
        getattr(found, wrong)
    with pytest.raises(AttributeError, match=f"^module 'rotting.{module}' has no attribute '_{right}'$"):
        getattr(found, f"_{right}")
