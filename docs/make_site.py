"""Build the site: `python -m docs.make_site`.

The pages are copied to a folder of their own first: Sphinx-Gallery and autosummary write beside what they read, and the
repository stays as it is. `--quick` runs none of the pages that hold code, for checks of text and links.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.site import api, links, recordings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OUTPUT = ROOT / "build" / "site"
# Pages of the repository that the site shows, too.
SHARED = {
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "docs/guides/README.md": "guides/index.md",
}
SECTIONS = ("tutorials", "concepts", "gallery")  # whose pages are run
SETTINGS = ("conf.py", "site/figures.py")  # how they are run, and what becomes of their figures


def _differ(source: Path, copy: Path) -> bool:
    return source.read_bytes() != copy.read_bytes()


def gather(folder: Path) -> None:
    """Copy what Sphinx reads to `folder`. What was run there before need not run again, unless it or the settings changed."""
    if any((folder / name).exists() and _differ(DOCS / name, folder / name) for name in SETTINGS):
        for each in SECTIONS:
            shutil.rmtree(folder / each, ignore_errors=True)
    files = [path for path in DOCS.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    pairs = [(path, folder / path.relative_to(DOCS)) for path in files]
    pairs += [(ROOT / name, folder / target) for name, target in SHARED.items()]
    for source, target in pairs:
        if not target.exists() or _differ(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    wanted = {target for _, target in pairs}
    made = {folder / section: {path.stem for path in (DOCS / "pages" / section).glob("*.py")} for section in SECTIONS}
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in wanted]:
        section = next((each for each in made if each in path.parents), None)
        if section is None or not any(part in path.name for part in (*made[section], "index")):
            path.unlink()
    api.write(folder / "api")


def build(output: Path, quick: bool = False) -> int:
    """Build the site in `output`, its sources and the builder's notes beside it; return an exit code.

    Sphinx knows its own links alone. Those in templates, in HTML and to files are looked at when all pages are there.
    """
    source, notes = (output.with_name(f"{output.name}-{each}") for each in ("source", "doctrees"))
    gather(source)
    recordings.write(source / "_static" / "recordings.js", quick)
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment["MPLBACKEND"] = "agg"
    if quick:
        environment["ROTTING_SITE"] = "quick"
    options = ["-W", "--keep-going", "-n", "-q", "-E", "-b", "html", "-d", str(notes)]  # -E: pages depend on conf.py, too
    code = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(source), str(output)], env=environment, check=False
    ).returncode
    if code:
        return code
    found = links.problems(output)
    sys.stderr.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m docs.make_site", description="Build the site.")
    parser.add_argument("--quick", action="store_true", help="run none of the pages that hold code")
    parser.add_argument("--out", type=Path, default=OUTPUT, help="folder of the site")
    chosen = parser.parse_args(arguments)
    code = build(chosen.out, chosen.quick)
    if code == 0:
        print(chosen.out / "index.html")  # noqa: T201 - the answer of the command
    return code


if __name__ == "__main__":
    sys.exit(main())
