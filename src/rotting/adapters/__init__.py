"""Problems and policies for other libraries: environments and agents for Gymnasium, bandit policies for River.

- `Environment(problem)` is a Gymnasium environment, which `river.bandit.evaluate` plays, too. Extra `rotting[gymnasium]`.
- `Agent(policy, env)` lets a policy play any environment with a finite number of actions.
- `RiverPolicy(policy)` is a bandit policy for River. Extra `rotting[river]`.
"""

import importlib
from typing import TYPE_CHECKING

from rotting.common.rules import no_such_name
from rotting.errors import MissingExtraError

if TYPE_CHECKING:
    from rotting.adapters.agent import Agent
    from rotting.adapters.environment import Environment
    from rotting.adapters.river_policy import RiverPolicy

__all__ = ["Agent", "Environment", "RiverPolicy"]

_HOMES = {"Agent": "agent", "Environment": "environment", "RiverPolicy": "river_policy"}
_EXTRAS = {"Environment": "gymnasium", "RiverPolicy": "river"}

if not TYPE_CHECKING:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise no_such_name(__name__, name, __all__)
        try:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get(name, "")
            if error.name != extra:
                raise
            raise MissingExtraError(f"{name} needs {extra.capitalize()}: pip install 'rotting[{extra}]'") from error


def __dir__() -> list[str]:
    return __all__
