"""Every block of code that readers of the site and of the repository meet, and how each is run.

A block is a doctest, a cell of a page that is run, a script for a shell, or it stands in one of the tables below. A block that
is none of these fails `tests/docs/test_blocks.py`, or `tests/docs/test_site.py` where only the built page has it.
"""

import doctest
from dataclasses import dataclass
from functools import cache

from docutils import nodes
from docutils.core import publish_doctree
from markdown_it import MarkdownIt
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from docs import make_site

ROOT = make_site.ROOT
CELL = "cell"  # of a page that Sphinx-Gallery runs when the site is built; tests/docs/test_notebooks.py runs the tutorials
NOT_CODE = ("{toctree}",)

# Blocks that a test of their own runs: the page, how the block begins, and the test.
RUN_BY = {
    ("docs/your-own-policy.md", '"""Epsilon-greedy'): "tests/test_package.py::test_the_policy_of_the_page_works",
    ("docs/your-own-policy.md", 'python -c "import rotting, my_policies'): (
        "tests/test_package.py::test_the_policy_of_the_page_works"
    ),
    ("docs/your-own-policy.md", '"""Logistic noise'): "tests/test_package.py::test_the_noise_of_the_page_works",
    ("docs/your-own-policy.md", 'python -c "import rotting, my_noises'): (
        "tests/test_package.py::test_the_noise_of_the_page_works"
    ),
    ("CONTRIBUTING.md", 'python -c "import rotting; '): "tests/live/test_checks.py::test_every_policy_keeps_the_contract",
    ("docs/engines.md", "import rotting"): "tests/docs/test_engines_page.py::test_a_gpu_and_a_cluster",
    ("docs/engines.md", "from dask.distributed"): "tests/docs/test_engines_page.py::test_a_gpu_and_a_cluster",
    ("docs/engines.md", "from dask_jobqueue"): "tests/docs/test_engines_page.py::test_a_gpu_and_a_cluster",
    ("docs/engines.md", "#SBATCH"): "tests/docs/test_engines_page.py::test_shards_are_one_simulation",
    ("docs/engines.md", "from pathlib"): "tests/docs/test_engines_page.py::test_shards_are_one_simulation",
    ("docs/pages/tutorials/sweep.py", "from dask_jobqueue"): "tests/docs/test_engines_page.py::test_a_sweep_on_a_queue",
    ("docs/guides/from-river-and-mabwiser.md", "from river"): "tests/docs/test_guides.py::test_the_code_for_river_works",
    ("docs/guides/from-river-and-mabwiser.md", "for song, liked"): "tests/docs/test_guides.py::test_the_code_for_river_works",
    ("docs/guides/from-river-and-mabwiser.md", "policy.pull("): "tests/docs/test_guides.py::test_the_code_for_river_works",
    ("docs/guides/serving.md", "site=http"): "tests/docs/test_serving_page.py::test_the_commands_of_the_guide_work",
    ("docs/guides/serving.md", "curl -sS http://127.0.0.1:8000/v1/bandits"): (
        "tests/docs/test_serving_page.py::test_the_commands_of_the_guide_work"
    ),
    ("docs/guides/serving.md", "worker_processes"): (
        "tests/server/http/test_proxy.py::test_the_service_works_behind_nginx_as_the_guide_configures_it"
    ),
    ("docs/guides/serving.md", "import rotting"): "tests/docs/test_serving_page.py::test_the_clients_work",
    ("rotting.Client", "with rotting.Client"): "tests/docs/test_serving_page.py::test_the_clients_work",
    ("rotting.AsyncClient", "async with rotting.AsyncClient"): "tests/docs/test_serving_page.py::test_the_clients_work",
}

MABWISER, SMPYBANDITS = "MABWiser's code: it is compiled only", "SMPyBandits' code: it is compiled only"
EXCUSED = {
    ("docs/guides/serving.md", "from starlette.applications"): "Starlette's code: it is compiled only",
    ("docs/project.md", "@inproceedings"): "what to cite",
    ("docs/unknown-noise.md", "v_i = "): "a formula",
    ("docs/guides/from-river-and-mabwiser.md", "from mabwiser"): MABWISER,
    ("docs/guides/from-river-and-mabwiser.md", "mab.fit("): MABWISER,
    ("docs/guides/from-river-and-mabwiser.md", "mab.add_arm("): MABWISER,
    ("docs/guides/from-smpybandits.md", "from SMPyBandits.Arms import Bernoulli"): SMPYBANDITS,
    ("docs/guides/from-smpybandits.md", "for k, policy"): SMPYBANDITS,
    ("docs/guides/from-smpybandits.md", "from SMPyBandits.Arms import RestedRotting"): SMPYBANDITS,
    ("docs/guides/from-smpybandits.md", "class RoundRobin"): SMPYBANDITS,
}


@dataclass(frozen=True)
class Block:
    """A block of code; `page` is the file that holds it, or the public name whose docstring does."""

    page: str
    language: str
    text: str

    @property
    def is_doctest(self) -> bool:
        return self.text.startswith(">>> ")

    @property
    def is_shell(self) -> bool:
        return self.language == "sh"

    @property
    def run_by(self) -> str | None:
        return _found(RUN_BY, self)

    @property
    def excuse(self) -> str | None:
        return _found(EXCUSED, self)


def _found(table: dict[tuple[str, str], str], block: Block) -> str | None:
    return next((value for (page, start), value in table.items() if page == block.page and block.text.startswith(start)), None)


def _in_markdown(page: str, text: str) -> list[Block]:
    tokens = [each for each in MarkdownIt().parse(text) if each.type in {"fence", "code_block"}]
    found = [Block(page, each.info.partition(" ")[0], each.content.strip()) for each in tokens]
    return [each for each in found if each.language not in NOT_CODE]


def _in_rst(page: str, text: str) -> list[Block]:
    document = publish_doctree(text, settings_overrides={"report_level": 5, "halt_level": 6})  # roles of Sphinx are unknown
    literal = [each for each in document.findall() if isinstance(each, nodes.literal_block | nodes.doctest_block)]
    return [Block(page, "".join(each["classes"][1:]), each.astext().strip()) for each in literal]


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """Return the blocks of a file, in order."""
    path = ROOT / page
    if path.suffix == ".md":
        return tuple(_in_markdown(page, path.read_text("utf-8")))
    if path.suffix == ".rst":
        return tuple(_in_rst(page, path.read_text("utf-8")))
    _, parts = split_code_and_text_blocks(str(path))
    found = []
    for kind, text, _ in parts:
        found += [Block(page, CELL, text.strip())] if kind == "code" else _in_rst(page, text)
    return tuple(found)


def block(page: str, start: str) -> str:
    """Return the text of the only block of a page that begins with `start`."""
    (found,) = (each.text for each in blocks(page) if each.text.startswith(start))
    return found


def pages() -> list[str]:
    """Return the source files of the site, and of the repository's front page."""
    docs = [path for path in make_site.DOCS.rglob("*") if path.suffix in {".md", ".rst"} and "_templates" not in path.parts]
    run = [path for each in make_site.SECTIONS for path in (make_site.DOCS / "pages" / each).glob("*.py")]
    shared = [ROOT / name for name in ("README.md", *make_site.SHARED)]
    return sorted({path.relative_to(ROOT).as_posix() for path in (*docs, *run, *shared)})


def skipped(text: str) -> bool:
    """Return whether a doctest has an example marked `+SKIP`."""
    return any(each.options.get(doctest.SKIP) for each in doctest.DocTestParser().get_examples(text))
