"""The tutorials as notebooks, made from the pages' own sources: their cells run, one after the other, in small sizes.

The site runs the same pages in full. Here nothing is compiled, and games are short: what is tested is that every cell works.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook, save_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from docs import make_site

TUTORIALS = sorted((make_site.DOCS / "pages" / "tutorials").glob("*.py"))
RUN = """
import inspect, json, sys
import rotting
from rotting.simulation import simulate, sweep, trajectory

def small(function):
    names = list(inspect.signature(function).parameters)
    def shortened(*args, **options):
        asked = dict(zip(names, args)) | options
        played = asked.get("problem") or asked["problems"]
        longest = min(each.horizon or 100 for each in (played if hasattr(played, "__len__") else [played]))
        asked["horizon"] = min(asked.get("horizon") or longest, 100)
        if "runs" in asked:
            asked["runs"] = 2
        return function(**asked)
    return shortened

for function in (simulate.simulate, sweep.sweep, trajectory.play):
    setattr(rotting, function.__name__, small(function))
space = {"__name__": "__main__"}
for k, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {k}", "exec"), space)
"""


def notebook(path: Path, folder: Path) -> Path:
    """Write the notebook of a page, as the site offers it for download."""
    configuration = {**DEFAULT_GALLERY_CONF, "first_notebook_cell": None, "src_dir": str(folder)}
    _, blocks = split_code_and_text_blocks(str(path))
    written = folder / f"{path.stem}.ipynb"
    save_notebook(jupyter_notebook(blocks, configuration, str(folder)), written)
    return written


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda each: each.stem)
def test_every_cell_runs(path: Path, tmp_path: Path) -> None:
    written = notebook(path, tmp_path)
    cells = json.loads(written.read_text("utf-8"))["cells"]
    assert {each["cell_type"] for each in cells} == {"code", "markdown"}
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "agg", "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(written)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["news", "batteries"])
def test_case_studies_say_so_where_there_is_no_data(name: str, tmp_path: Path) -> None:
    written = notebook(make_site.DOCS / "pages" / "tutorials" / f"{name}.py", tmp_path)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "agg", "ROTTING_DATA": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(written)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "NOT the real data" in done.stdout
    assert "Recommended: " in done.stdout
