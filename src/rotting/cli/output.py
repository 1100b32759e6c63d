"""What the commands print: strict JSON, and messages beside it."""

import json
import sys
from typing import Any


def json_text(data: Any) -> str:
    """Return strict JSON: a NaN is refused."""
    return json.dumps(data, indent=2, allow_nan=False)


def say(message: str) -> None:
    """Tell the user on standard error, so that standard output holds the result alone."""
    print(message, file=sys.stderr, flush=True)
