"""Finding policies by name: those of the library, and every policy class that users define."""

import importlib
import pkgutil
from functools import cache
from typing import Any

from rotting import policies
from rotting.common.rules import suggest
from rotting.errors import InvalidValueError
from rotting.policies.parts.doubling import doubled
from rotting.policies.parts.plain import PlainPolicy
from rotting.policy import Policy, defined_policies


@cache
def _built_in() -> dict[str, type[Policy]]:
    for info in pkgutil.iter_modules(policies.__path__):
        if info.ispkg:  # what policies are made of
            continue
        importlib.import_module(f"{policies.__name__}.{info.name}")
    return {name: each for name, each in defined_policies.items() if each.__module__.rpartition(".")[0] == policies.__name__}


def _known() -> dict[str, type[Policy]]:
    built_in = _built_in()  # imports them, which defines them
    return dict(sorted({**defined_policies, **built_in}.items()))


def list_policies() -> list[type[Policy]]:
    """Return all policy classes, in the order of their names.

    Example:
        >>> [each.name for each in list_policies() if each.name.endswith("fewa")]
        ['eff-fewa', 'fewa']
    """
    return list(_known().values())


def find(name: object, remark: str = "") -> type[Policy]:
    """Return the policy class called `name`; the error for an unknown name has the remark and a suggestion."""
    known = _known()
    name = str(name)
    if name.startswith("doubling(") and name.endswith(")"):
        inner: Any = find(name.removeprefix("doubling(").removesuffix(")"), remark)
        return doubled(inner)
    if name not in known:
        listed = [each.name for each in list_policies()]
        raise InvalidValueError("policy", f"be one of {', '.join(listed)}", name, hint=f"{remark}{suggest(name, listed)}")
    return known[name]


def make(name: str, **params: float | str) -> Policy:
    """Return the policy called `name` with these parameters.

    Example:
        >>> make("raw-ucb", alpha=1.4)
        RAWUCB(alpha=1.4, sigma=1.0)
    """
    return find(name)(**params)


def from_json(data: object) -> Policy:
    """Return the policy that `Policy.to_json` wrote.

    Example:
        >>> from_json(make("fewa").to_json())
        FEWA(alpha=0.06, sigma=1.0)
    """
    if isinstance(data, dict) and set(data) == {"policy", "params", "plain"}:
        return PlainPolicy(data["policy"], data["params"], data["plain"])
    if not isinstance(data, dict) or set(data) != {"policy", "params"} or not isinstance(data["params"], dict):
        raise InvalidValueError("a policy in JSON", "be an object with 'policy' and 'params'", data)
    policy_class = find(data["policy"], " (if it is your own, import the module that defines it)")
    return policy_class(**data["params"])
