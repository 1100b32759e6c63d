"""Experiments are played in a size of a blink where a test asks for it."""

import pytest

from rotting.paper.experiments import Prepared
from rotting.simulation.result import Result
from tests.helpers.tiny_experiments import play_prepared, tiny

__all__ = ["tiny"]


@pytest.fixture(scope="module")
def played(prepared: Prepared) -> dict[str, Result]:
    """The games that the fixture `prepared` of a module returns."""
    return play_prepared(prepared)
