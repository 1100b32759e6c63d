"""Settings of the site. `docs/make_site.py` calls Sphinx with them."""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer

from docs.make_site import ROOT, SECTIONS
from docs.site.figures import light_and_dark
from rotting.common.version import __version__

project = "rotting"
author = "The rotting developers"
copyright = "the rotting developers"  # noqa: A001 - Sphinx's name
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["pages/**", "guides/README.md"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [("py:class", r".*\.params_class")]  # made from the fields of a policy, which its page shows
default_role = "code"  # docstrings write `names` as Markdown does

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # Sphinx-Gallery's settings hold classes

autosummary_generate = sorted(map(str, Path(__file__).parent.glob("api/*.rst")))
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # the text says what is meant, the signature of a policy its defaults
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "rotting"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "scrub": [], "paper": []}
html_theme_options = {
    "navigation_with_keys": True,
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

# A site that is not to run its pages (`--quick`) says so in a variable of the environment.
QUICK = os.environ.get("ROTTING_SITE") == "quick"
sphinx_gallery_conf = {
    "examples_dirs": [f"pages/{each}" for each in SECTIONS],
    "gallery_dirs": list(SECTIONS),
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py$",
    "plot_gallery": "False" if QUICK else "True",
    "within_subsection_order": "docs.site.order.by_plan",
    "image_scrapers": (light_and_dark,),
    "capture_repr": ("__repr__",),
    "ignore_repr_types": r"matplotlib|<class .list.>",  # what drawing returns
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1_000_000,  # how long a page took here tells readers nothing
    "write_computation_times": False,
    "only_warn_on_example_error": False,
    "abort_on_example_error": False,
    "remove_config_comments": True,
    "first_notebook_cell": None,
    "default_thumb_file": str(Path(__file__).parent / "_static" / "thumb.png"),
    "nested_sections": False,
    "backreferences_dir": None,
    "reference_url": {},
}

# Links that are right in the repository, and where they lead on the site.
_SOURCE_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+src/(rotting/[\w/]+)\.py\)")
_SOURCE_NAME = re.compile(r"`((?:src/rotting/)?((?:\w+/)+\w+)\.py)`")
_NAMING = {"paper", "hull", "contributing", "architecture"}  # pages whose names of files become links
_PAGE_LINK = re.compile(rf"\]\(((?:\.\./)*)pages/({'|'.join(SECTIONS)})/(\w+)\.py\)")
_ROOT_LINK = re.compile(r"\]\((?:\.\./)*(CONTRIBUTING|ARCHITECTURE|CHANGELOG)\.md\)")
_GUIDES = """
```{toctree}
:hidden:
:glob:

*
```
"""


def _lead_links(app: Sphinx, name: str, text: list[str]) -> None:
    """Lead links to code to the pages that show it, and links to pages that are run to what was made of them."""
    up = "../" * name.count("/")
    page = _SOURCE_LINK.sub(rf'<a href="{up}_modules/\2.html">\1</a>', text[0])
    if name in _NAMING:
        page = _SOURCE_NAME.sub(_to_source, page)
    page = _ROOT_LINK.sub(lambda found: f"]({up}{found[1].lower()}.md)", page)
    page = page.replace("](docs/", "](")  # in the pages of the repository's root
    page = page.replace("pages/gallery/GALLERY_HEADER.rst", "gallery/index.rst")
    text[0] = _PAGE_LINK.sub(r"](\1\2/\3.rst)", page) + (_GUIDES if name == "guides/index" else "")


_SHOWN: set[str] = set()  # modules that have no page of their own in the API, but that a link leads to


def _to_source(found: re.Match[str]) -> str:
    """Return a link for the name of a file of the library, and other names as they are."""
    written, path = found[1], found[2]
    if not (ROOT / "src" / "rotting" / f"{path}.py").is_file():
        return found[0]
    _SHOWN.add(f"rotting.{path.replace('/', '.')}")
    return f'<a href="_modules/rotting/{path}.html"><code class="docutils literal">{written}</code></a>'


def _show_modules(app: Sphinx, env: BuildEnvironment) -> None:
    """Let viewcode show these modules, too; it notes none but those whose names are in the API."""
    noted = env._viewcode_modules  # type: ignore[attr-defined]
    for name in sorted(_SHOWN - {each for each, entry in noted.items() if entry}):
        analyzer = ModuleAnalyzer.for_module(name)
        analyzer.find_tags()
        noted[name] = (analyzer.code, analyzer.tags, {}, "")


# Napoleon reads what stands before a colon in the docstring of a property as its type. These docstrings stay as written.
_TEXTS: dict[str, list[str]] = {}


def _remember(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    if what in {"property", "attribute", "data"}:
        _TEXTS[name] = list(lines)


def _restore(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    lines[:] = _TEXTS.pop(name, lines)


def _without_way_back(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Leave out viewcode's links from code to the API: where a module's names are public elsewhere, too, they lead nowhere."""
    if name.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back"[^>]*>.*?</a>', "", context["body"])


def setup(app: Sphinx) -> None:
    """Connect what this file defines."""
    app.connect("source-read", _lead_links)
    app.connect("env-updated", _show_modules)
    app.connect("html-page-context", _without_way_back)
    app.connect("autodoc-process-docstring", _remember, priority=100)  # before Napoleon
    app.connect("autodoc-process-docstring", _restore, priority=900)  # after it
