"""Experiments are played in a size of a blink where a test asks for it."""

from tests.helpers.tiny_experiments import tiny

__all__ = ["tiny"]
