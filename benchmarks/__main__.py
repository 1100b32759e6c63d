"""The command: `python -m benchmarks`."""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence

from benchmarks import ROOT, live, service, simulations
from benchmarks.measure import QUICK, TINY, Size, machine
from docs.page_tables import fill
from rotting.errors import EngineError, MissingExtraError

PAGE = ROOT / "docs" / "benchmarks.md"
PARTS: dict[str, Callable[[Size], str]] = {
    "numpy": simulations.against_numpy,
    "paper": simulations.against_the_paper,
    "exact": simulations.against_each_other,
    "horizons": simulations.over_horizons,
    "arms": simulations.over_arms,
    "gpu": simulations.on_a_gpu,
    "live": live.against_river,
    "durable": live.durable,
    "http": service.measured,
}
NEEDS = {"durable": "apsw", "http": "uvicorn"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="The library beside its peers, in one run.")
    parser.add_argument("--only", action="append", choices=PARTS, help="a table; may be repeated")
    parser.add_argument("--tiny", action="store_true", help="takes seconds: does it run at all?")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    chosen = parser.parse_args(arguments)
    size, found = TINY if chosen.tiny else QUICK, {"machine": machine()}
    print(found["machine"])
    for name in chosen.only or PARTS:
        if name in NEEDS and not importlib.util.find_spec(NEEDS[name]):
            print(f"\n{name}: not measured, since {NEEDS[name]} is not installed")
            continue
        try:
            found[name] = PARTS[name](size)
        except (EngineError, MissingExtraError) as error:
            print(f"\n{name}: not measured: {error}")
            continue
        print(f"\n{name}\n{found[name]}", flush=True)
    if chosen.write:
        fill(PAGE, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
