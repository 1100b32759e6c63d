"""`rotting list`: the policies and the problems, with their parameters."""

import argparse
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from rotting.cli.arguments import UserError, known_noises
from rotting.cli.output import json_text
from rotting.cli.parsers import Commands
from rotting.common.rules import suggest


class _Parameter(TypedDict):
    name: str
    required: bool
    default: object
    rule: str
    meaning: str


class _Entry(NamedTuple):
    name: str
    summary: str
    parameters: list[_Parameter]


def _parameter(name: str, required: bool, default: object, rule: str, meaning: str) -> _Parameter:
    return {"name": name, "required": required, "default": default, "rule": rule, "meaning": meaning.strip().rstrip(".")}


def _policies() -> list[_Entry]:
    from rotting.registry import list_policies

    found = []
    for policy in list_policies():
        parameters = []
        for p in policy.parameters():
            default = None if p.required else p.rule.show(p.rule.check(p.name, p.default))
            parameters.append(_parameter(p.name, p.required, default, p.rule.text, p.doc))
        found.append(_Entry(policy.name, _summary(policy), parameters))
    return found


def _problems() -> list[_Entry]:
    from rotting.problems import list_problems
    from rotting.problems.noise import Noise

    def rule(kind: object) -> str:
        if kind is Noise:
            return "a noise, such as gaussian/0.5"
        if getattr(kind, "__origin__", None) is Sequence:
            return "numbers, such as 0.5/0.25"
        known: dict[object, str] = {float: "a number", int: "a whole number", int | None: "a whole number"}
        return known.get(kind, str(kind))

    def shown(default: object) -> object:
        if isinstance(default, Noise):
            kind, *numbers = default.to_json().values()
            return "/".join([kind.lower(), *map(str, numbers)])
        return default

    found = []
    for name, function in list_problems().items():
        meanings = _meanings(function)
        parameters = []
        for p in inspect.signature(function).parameters.values():
            required = p.default is p.empty
            default = None if required else shown(p.default)
            parameters.append(_parameter(p.name, required, default, rule(p.annotation), meanings.get(p.name, "")))
        found.append(_Entry(name, _summary(function), parameters))
    return found


def _summary(documented: object) -> str:
    first = (inspect.getdoc(documented) or "").partition("\n")[0].removeprefix("Return ")
    return first[:1].upper() + first[1:]


def _meanings(function: Callable[..., object]) -> dict[str, str]:
    """Return what the `Args` section of a docstring says about each argument."""
    section = re.search(r"^Args:\n((?: +.*\n?)+)", inspect.getdoc(function) or "", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section[1], re.MULTILINE) if section else []
    return {name: " ".join(text.split()) for name, text in entries}


KINDS: Mapping[str, Callable[[], list[_Entry]]] = {"policies": _policies, "problems": _problems}


def _list(options: argparse.Namespace) -> None:
    if options.kind not in {None, *KINDS}:
        known = ", ".join(KINDS)
        raise UserError(f"list takes one of {known}, got {options.kind!r}{suggest(options.kind, KINDS)}")
    listed = {kind: entries() for kind, entries in KINDS.items() if options.kind in {None, kind}}
    if options.json:
        print(json_text({kind: [entry._asdict() for entry in entries] for kind, entries in listed.items()}))
        return
    print("\n\n".join(_written(kind, entries) for kind, entries in listed.items()))


def _written(kind: str, entries: list[_Entry]) -> str:
    def value(p: _Parameter) -> str:
        return "(required)" if p["required"] else "(none)" if p["default"] is None else f"= {p['default']}"

    parameters = [p for entry in entries for p in entry.parameters]
    names, values, rules = (
        max((len(text) for text in column), default=0)
        for column in zip(*((p["name"], value(p), p["rule"]) for p in parameters), strict=True)
    )
    lines = [kind.upper()]
    for entry in entries:
        lines += ["", entry.name, f"    {entry.summary}"]
        for p in entry.parameters:
            text = f"{p['rule']:{rules}}  {p['meaning']}".rstrip()
            lines.append(f"      {p['name']:{names}} {value(p):{values}}  {text}")
    if kind == "problems":
        forms = ("/".join([name, *inspect.signature(noise).parameters]) for name, noise in known_noises().items())
        lines += ["", f"Noises: {', '.join(forms)}"]
    return "\n".join(lines)


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    lister = commands.add("list", _list, "List the policies and problems, with their parameters")
    lister.add_argument("kind", nargs="?", metavar="policies|problems", help="what to list; default: both")
    lister.add_argument("--json", action="store_true", help="print strict JSON")
