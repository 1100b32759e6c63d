"""The command: `python -m tools.mutants`."""

import argparse
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Do the tests notice small changes?")
    parser.add_argument("--count", type=int, default=400, help="size of the random sample (default: %(default)s)")
    parser.add_argument("--seed", default="0", help="seed of the random sample (default: %(default)s)")
    parser.add_argument("--module", action="append", help="only files that match this, such as '*/policies/*'; repeatable")
    parser.add_argument(
        "--package", nargs="+", help="only files of these packages, such as live, and only the tests of their folders"
    )
    parser.add_argument("--only", nargs="+", metavar="ID", help="only these mutants, even if they have a verdict")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="mutants to run at a time (default: %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=30.0, help="seconds of tests that execute the mutant (default: %(default)s)"
    )
    parser.add_argument("--rest", type=float, default=300.0, help="seconds of other tests of its folder (default: %(default)s)")
    parser.add_argument(
        "--equivalent", action="store_true", help="run the mutants that are listed as equivalent, too: none should die"
    )
    parser.add_argument(
        "--compiled", action="store_true", help="run the slow, compiled tests on the survivors of an earlier run"
    )
    options = parser.parse_args(arguments)
    os.environ["NUMBA_DISABLE_JIT"] = "0" if options.compiled else "1"  # Numba reads it when it is imported
    from tools.mutants import campaign  # noqa: PLC0415

    return campaign.run(**vars(options))


if __name__ == "__main__":
    sys.exit(main())
