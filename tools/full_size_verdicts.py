"""Keep the verdicts of full-size reports in the package, so that quick reports show them beside their own.

`rotting reproduce --full --fresh` makes such a report; its experiments may also be run one by one, on several machines. Then
`python -m tools.full_size_verdicts reproduced/full` reads `verdicts.json` of each folder that is named. Experiments that none
of them has stay as they were.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rotting.common.json_data import JsonDict
from rotting.errors import InvalidValueError
from rotting.paper.experiments import FULL_SIZE, list_experiments
from rotting.paper.report.model import kept_claims, read_verdicts


def merged(kept: JsonDict | None, reports: Sequence[JsonDict], commit: str) -> JsonDict:
    """Return the verdicts of some reports in the place of those that were kept.

    Args:
        kept: what was there, or None.
        reports: what `verdicts.json` of each holds; all must be of the full size.
        commit: of the code that made them.
    """
    found = dict(kept["experiments"]) if kept else {}
    for report in reports:
        for name, each in report["experiments"].items():
            if each["size"] != "full":
                got = f"{name} of the {each['size']} size"
                raise InvalidValueError("reports", "be of the full size", each["size"], got=got)
            found[name] = {**each, "commit": commit}
    data: JsonDict = {**reports[0], "experiments": {name: found[name] for name in list_experiments() if name in found}}
    kept_claims(data)  # which must be able to read it
    return data


def main(arguments: Sequence[str]) -> None:
    """Read the reports, and write the file of the package."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=Path, help="folders of reports, or their verdicts.json")
    parser.add_argument("--commit", help="commit of the code that made the reports; default: the one that is checked out")
    options = parser.parse_args(arguments)
    commit = options.commit or _git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").stdout.strip()
    if not is_in_history(commit):
        raise InvalidValueError("commit", "be in the history of the code that is checked out", commit)
    paths = [path / "verdicts.json" if path.is_dir() else path for path in options.reports]
    kept = read_verdicts(FULL_SIZE) if FULL_SIZE.is_file() else None
    data = merged(kept, [read_verdicts(path) for path in paths], commit)
    FULL_SIZE.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def is_in_history(commit: str) -> bool:
    """Return whether a commit is the one that is checked out, or an ancestor of it."""
    return _git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    folder = Path(__file__).parent
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603, S607


if __name__ == "__main__":
    main(sys.argv[1:])
