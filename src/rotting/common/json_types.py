"""The type of data that JSON can represent."""

from typing import Any

JsonDict = dict[str, Any]
"""An object of JSON: texts, numbers, lists and further objects by name."""
