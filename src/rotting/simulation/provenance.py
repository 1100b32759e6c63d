"""How a result is made: versions, digests of the code of policies, the machine, the date, and the call."""

import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib import metadata

import numpy as np

from rotting.common.json_data import JsonDict
from rotting.common.version import __version__
from rotting.policies.kernels.binding import digest
from rotting.policies.parts.plain import PlainPolicy
from rotting.policy import Kernel, Policy
from rotting.simulation.engines.task import Origin
from rotting.simulation.plan import Simulation

# Without a lock: git may be stopped at any moment.
_GIT = ("git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no")
_GIT_SECONDS = 1.0  # a first result does not wait longer


@cache
def commit() -> str | None:
    """Return the commit of the repository in which the program was started, with "-dirty" if files were changed since.

    None without a repository or a commit, or if git does not answer at once.
    """
    try:
        found = subprocess.run(_GIT, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)  # noqa: S603 - a fixed command
    except (OSError, subprocess.SubprocessError):
        return None
    lines = found.stdout.splitlines()
    name = lines[0].removeprefix("# branch.oid ")
    dirty = any(not line.startswith("#") for line in lines)
    return None if name == "(initial)" else f"{name}{'-dirty' if dirty else ''}"


@cache
def _digest_of(kernel: Kernel) -> str:
    return "-".join(map(digest, (kernel.init, kernel.choose, kernel.update)))


def code_digest(policy: Policy) -> str:
    """Return a digest of the functions that decide the choices of a policy, or of the source of a plain class.

    Example:
        >>> from rotting.policies.ucb1 import UCB1
        >>> code_digest(UCB1()) == code_digest(UCB1(sigma=2.0)) != ""
        True
    """
    return policy.code if isinstance(policy, PlainPolicy) else _digest_of(policy.kernel)


def provenance_of(simulation: Simulation, origins: Iterable[Origin]) -> JsonDict:
    """Return how the result of a simulation is made, as JSON-able data; `origins` are those of its games.

    The date is that of the last game that was played, which may be long ago if games were kept.
    """
    chosen = simulation.reference
    machines = sorted({each.machine for each in origins})
    last = max(each.played for each in origins)
    return {
        "rotting": __version__,
        "commit": commit(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": metadata.version("numba"),
        "machine": machines[0] if len(machines) == 1 else machines,
        "date": datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds"),
        "code": {repr(each): code_digest(each) for each in simulation.playing},
        "call": {
            "policies": [repr(each) for each in simulation.policies],
            "problem": repr(simulation.problem if simulation.family is None else simulation.family),
            **{name: getattr(simulation, name) for name in ("horizon", "runs", "seed", "first_run")},
            "checkpoints": simulation.checkpoints.tolist(),
            "record": list(simulation.record),
            "reference": chosen.to_json() if isinstance(chosen, Policy) else chosen,
        },
    }
