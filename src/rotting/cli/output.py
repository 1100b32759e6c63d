"""Output of the commands: strict JSON on standard output, messages on standard error."""

import sys


def json_text(data: object) -> str:
    """Return strict JSON: a NaN is refused."""
    import json  # few commands need it, and `--help` none

    return json.dumps(data, indent=2, allow_nan=False)


def say(message: str) -> None:
    """Print a message on standard error, so that standard output holds only the result."""
    print(message, file=sys.stderr, flush=True)
