"""The pages of the API reference: one for each public module, one for each public name, written from the code."""

import importlib
import inspect
from pathlib import Path
from types import GenericAlias, ModuleType

import rotting

# Public modules, in the order in which people meet them, each with what it is for.
MODULES = {
    "rotting": "what most programs need: policies, simulations, live decisions",
    "rotting.problems": "problems, arms, decays",
    "rotting.paper.datasets": "problems from data",
    "rotting.paper.theory": "the theorems, evaluated",
    "rotting.common.display": "the look of figures",
    "rotting.adapters": "problems and policies in Gymnasium and River",
    "rotting.kit": "all that the author of a policy or of a noise imports",
    "rotting.registry": "policies by name",
    "rotting.errors": "every exception and warning",
}
HEAD = """\
{title}
{line}

.. currentmodule:: {module}

{about}
"""
GROUP = """
{title}
{line}

.. autosummary::
   :toctree: generated
   :nosignatures:

{names}
"""


def _public(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None)
    if names is None:  # what is defined there
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted((name for name in names if not name.startswith("_")), key=str.lower)


def groups(module: ModuleType) -> dict[str, list[str]]:
    """Return the public names of a module by their kind. What `rotting` has, other modules do not show again."""
    found: dict[str, list[str]] = {"Policies": [], "Noises": [], "Classes": [], "Functions": [], "Data": []}
    shown_before = {id(getattr(rotting, name)) for name in _public(rotting)} if module is not rotting else set()
    for name in _public(module):
        value = getattr(module, name)
        # Of a dict, Sphinx would show the documentation of `dict`; tables of parts are documented where they are defined.
        if inspect.ismodule(value) or id(value) in shown_before or isinstance(value, GenericAlias | dict):
            continue
        if inspect.isclass(value) and issubclass(value, rotting.Policy) and value is not rotting.Policy:
            kind = "Policies"
        elif inspect.isclass(value) and issubclass(value, rotting.kit.Noise) and value is not rotting.kit.Noise:
            kind = "Noises"
        elif inspect.isclass(value):
            kind = "Classes"
        else:
            kind = "Functions" if callable(value) else "Data"
        found[kind].append(name)
    return {title: names for title, names in found.items() if names}


def _section(text: str, **values: str) -> str:
    return text.format(line=("=" if text is HEAD else "-") * len(values["title"]), **values)


def page(name: str) -> str:
    """Return the page of a module."""
    module = importlib.import_module(name)
    first = inspect.getdoc(module).partition("\n")[0]  # type: ignore[union-attr]
    text = _section(HEAD, title=name, module=name, about=first)
    for title, names in groups(module).items():
        text += _section(GROUP, title=title, names="\n".join(f"   {each}" for each in names))
    return text


def write(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [f"   {name.replace('.', '-')}" for name in MODULES]
    rows = [f"- :doc:`{name} <{name.replace('.', '-')}>`: {what}" for name, what in MODULES.items()]
    lines = ["API reference", "=============", "", *rows, "", ".. toctree::", "   :hidden:", "", *entries, ""]
    (folder / "index.rst").write_text("\n".join(lines), "utf-8")
    for name in MODULES:
        (folder / f"{name.replace('.', '-')}.rst").write_text(page(name), "utf-8")
