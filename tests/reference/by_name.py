"""The reference of a policy, found by its name, and what the publications' tunings make of a horizon.

`TUNING` is for references that take the tuned parameters. A reference that takes `horizon` tunes itself and needs no entry.
"""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from rotting.policy import Policy
from rotting.registry import list_policies
from tests.reference import detectors, exponential_weights, forgetting
from tests.reference.policy import Draws
from tests.reference.policy import Policy as Reference


def _test_module(policy: type[Policy]) -> str:
    return f"tests.policies.test_{policy.__module__.rpartition('.')[2]}"


def naive_class(policy: Policy) -> type[Reference]:
    """Return the slow, obvious version of a policy: the class `Naive` in the policy's test module."""
    found: type[Reference] = importlib.import_module(_test_module(type(policy))).Naive
    return found


def import_references() -> None:
    """Import the test modules of all policies: Hypothesis refuses to define tests while it runs one."""
    for policy in list_policies():
        if policy.__module__.startswith("rotting.policies."):
            importlib.import_module(_test_module(policy))


def exp3_s_tuning(p: Any, K: int) -> dict[str, Any]:
    if p.segments > 0:
        gamma = exponential_weights.exp3s_gamma_switches(K, p.horizon, p.segments)
    elif p.budget > 0:
        gamma = exponential_weights.exp3s_gamma_budget(K, p.horizon, p.budget)
    else:
        gamma = exponential_weights.exp3s_gamma(K, p.horizon)
    return {"gamma": gamma, "alpha": 1 / p.horizon}


def rexp3_tuning(p: Any, K: int) -> dict[str, Any]:
    batch = exponential_weights.rexp3_batch(K, p.horizon, p.budget)
    return {"gamma": exponential_weights.exp3_gamma(K, batch), "batch": batch}


def m_ucb_tuning(p: Any, K: int) -> dict[str, Any]:
    w = detectors.mucb_w(K, p.horizon, p.change) if p.change > 0 else p.w
    b = detectors.mucb_b(K, p.horizon, w)
    return {"w": w, "b": b, "gamma": detectors.mucb_gamma(K, p.horizon, p.breakpoints + 1, w, b)}


def cusum_ucb_tuning(p: Any, K: int) -> dict[str, Any]:
    return {"h": detectors.cusum_h(p.horizon, p.breakpoints), "rate": detectors.cusum_rate(p.horizon, p.breakpoints)}


TUNING: dict[str, Callable[[Any, int], dict[str, Any]]] = {
    "exp3": lambda p, K: {"gamma": exponential_weights.exp3_gamma(K, p.horizon)},
    "exp3-s": exp3_s_tuning,
    "rexp3": rexp3_tuning,
    "sw-ucb": lambda p, K: {"tau": forgetting.swucb_tau(p.horizon, p.breakpoints, p.B)},
    "d-ucb": lambda p, K: {"gamma": forgetting.ducb_gamma(p.horizon, p.breakpoints, p.B)},
    "glr-ucb": lambda p, K: {"delta": detectors.glr_delta(p.horizon)},
    "glr-kl-ucb": lambda p, K: {"delta": detectors.glr_delta(p.horizon)},
    "cusum-ucb": cusum_ucb_tuning,
    "m-ucb": m_ucb_tuning,
}
"""What a policy's horizon makes of its other parameters, for K arms."""


def reference_of(policy: Policy, n_arms: int, uniform: Draws) -> Reference:
    """The slow, obvious version of a policy, with its random numbers."""
    params = {each.name: getattr(policy, each.name) for each in policy.parameters()}
    if policy.max_rounds is not None and policy.name in TUNING:
        params.update(TUNING[policy.name](policy.params, n_arms))
    params["local"] = params.get("restart") == "local"
    params["uniform"] = uniform
    slow = naive_class(policy)
    known = inspect.signature(slow).parameters
    return slow(n_arms, **{name: value for name, value in params.items() if name in known})
