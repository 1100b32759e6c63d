"""Write src/rotting/__init__.pyi from the code: public names and signatures of policies, for type checkers and editors.

At run time names are loaded when they are first used, and a policy's parameters are read from its `Params`: static tools see
neither. `make stubs` runs this script; a test finds a file that is stale.
"""

import inspect
import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rotting
from rotting.common.rules import NumberOrWord, Option
from rotting.policy import Parameter, Policy
from rotting.registry import list_policies

STUBS = Path(__file__).parent.parent / "src" / "rotting" / "__init__.pyi"
HEAD = "# Written by tools/make_stubs.py from the code; `make stubs` writes it anew.\n\nfrom typing import Final, Literal, Self"


def _imports() -> list[str]:
    homes: dict[str, str] = vars(rotting)["_HOMES"]
    places = [("rotting" + (f".{home}" if home else ""), name) for name, home in homes.items()]
    places.append(("rotting.common.version", "__version__"))
    return [f"from {module} import {name} as {name}" for module, name in sorted(places)]


def _given(each: Parameter) -> str:
    """Return the type of a parameter as it is given."""
    if isinstance(each.rule, NumberOrWord):
        return f"float | Literal[{', '.join(json.dumps(word) for word, _ in each.rule.words)}]"
    if isinstance(each.rule, Option):
        return f"Literal[{', '.join(map(json.dumps, each.rule.words))}]"
    return "int" if each.rule.whole else "float"


def _kept(each: Parameter) -> str:
    """Return the type of a parameter as the policy has it: of an option, its place."""
    if isinstance(each.rule, NumberOrWord):
        return _given(each)
    return "int" if isinstance(each.rule, Option) or each.rule.whole else "float"


def _argument(each: Parameter) -> str:
    if each.required:
        return f"{each.name}: {_given(each)}"
    default = each.rule.show(each.rule.check(each.name, each.default))
    return f"{each.name}: {_given(each)} = {json.dumps(default)}"


def _function(name: str, arguments: Iterable[str], returns: str, doc: str = "") -> list[str]:
    listed = list(arguments)
    inside = [f"    {each}," for each in listed]
    first = [f"def {name}({listed[0]}) -> {returns}:"] if len(listed) == 1 else [f"def {name}(", *inside, f") -> {returns}:"]
    return [*first, f'    """{doc}"""'] if doc else [*first[:-1], f"{first[-1]} ..."]


def _constructor(policy: type[Policy], name: str) -> list[str]:
    """Return a constructor such as `from_horizon`; the parameters that it passes on are those that count with a horizon."""
    made: Any = getattr(policy, name)
    own = {key: each for key, each in inspect.signature(made).parameters.items() if each.kind is not each.VAR_KEYWORD}
    known = {each.name: each for each in policy.parameters()}
    arguments = [f"{key}: {inspect.formatannotation(each.annotation)}" for key, each in own.items()]
    more = [_argument(each) for key, each in known.items() if key not in {*own, *policy.manual_params, "horizon"}]
    summary = (inspect.getdoc(made) or "").partition("\n")[0]
    return ["@classmethod", *_function(name, ["cls", *arguments, *(["*", *more] if more else [])], "Self", summary)]


def _policy(policy: type[Policy]) -> str:
    doc = textwrap.dedent(f"    {policy.__doc__}").strip()
    lines = [*f'"""{doc}\n"""'.splitlines(), ""]
    lines += [f"{each.name}: Final[{_kept(each)}]" for each in policy.parameters()]
    lines += _function("__init__", ["self", *map(_argument, policy.parameters())], "None")
    for name, _ in inspect.getmembers(policy, inspect.ismethod):
        if name.startswith("from_"):
            lines += _constructor(policy, name)
    return "\n".join([f"class {policy.__name__}(Policy):", *(f"    {line}".rstrip() for line in lines)])


def stubs() -> str:
    """Return the text of the file."""
    policies = [each for each in list_policies() if each.__module__.startswith("rotting.policies.")]
    names = ["__all__ = [", *(f'    "{name}",' for name in rotting.__all__), "]"]
    parts = ["\n".join([HEAD, "", *_imports(), "", *names]), *map(_policy, policies)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    STUBS.write_text(stubs(), "utf-8")
