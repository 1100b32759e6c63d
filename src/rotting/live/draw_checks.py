"""Checks that a policy draws as it declares, with the propensities that it gives."""

import math
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.engines.compile import guarded_for
from rotting.engines.entry_points import EntryPoint
from rotting.engines.kernel_errors import check_choice
from rotting.live import policy_state as states
from rotting.live.checked_games import ARMS, ROUNDS, Choose, compiled_kernels, play_game, require, reward_table
from rotting.parts.divergences import kl_bernoulli
from rotting.policy import Policy


class _Draws(NamedTuple):
    """A state in which draws are compared with propensities."""

    rounds: int  # played before
    available: tuple[int, ...]
    n_arms: int = ARMS
    keys: int = 500  # tried if the policy draws: enough to find an error of 0.2


_MANY_KEYS = 2_000  # enough to find an error of 0.1
_DRAWS = (
    _Draws(0, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ARMS, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS // 3, (0, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS, (0, 1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS, (1, 2), keys=_MANY_KEYS),
    _Draws(ROUNDS // 5, (0, 1, 2)),
    _Draws(ROUNDS // 2, (0, 1)),
    _Draws(2 * ROUNDS, (0, 1, 2)),
    _Draws(ROUNDS // 2, (0, 1, 2, 3, 4), n_arms=5),
)
_FEW_KEYS = 200  # if the policy declares that it does not draw
_ALARM = 1e-6  # the largest probability with which a policy with right propensities is refused
_EXACT = 1e-6  # allowed error of probabilities


def check_randomness(policy: Policy) -> None:
    """Try many keys in several states: a policy that depends on its key must declare that, with the right propensities."""
    choose, update = compiled_kernels(policy)
    for draws in _DRAWS:
        table = reward_table(draws.n_arms, max(ROUNDS, draws.rounds))
        _, state = play_game(policy, choose, update, table[:, : draws.rounds], draws.rounds + 1)
        keys = draws.keys if policy.randomised else _FEW_KEYS
        _check_draws(policy, choose, state, draws.rounds + 1, np.array(draws.available), keys)


def _check_draws(policy: Policy, choose: Choose, state: NamedTuple, t: int, arms: Ints, keys: int) -> None:
    propensities = checked_propensities(policy, state, t, arms)
    drawn, trial = np.zeros(arms.size), states.copy(state)
    written: Floats | None = getattr(trial, "propensity", None)
    arrays = list(zip(states.arrays(trial), states.arrays(state), strict=True))
    for key in range(keys):
        for array, kept in arrays:
            array[...] = kept
        arm = choose(policy.params, trial, t, key, arms)
        check_choice(policy, arm, arms)
        k = int(np.searchsorted(arms, arm))
        drawn[k] += 1
        if propensities is not None and written is not None:
            require(
                "choose must write the propensity of the arm that it returns into the field `propensity` of the state",
                bool(abs(written[arm] - propensities[k]) < _EXACT),
                f"round {t}, arms {arms}: {written[arm]} instead of {propensities[k]}",
            )
    if not policy.randomised:
        require("a policy that depends on its key must say `randomised = True`", drawn.max() == keys, f"{policy}, round {t}")
    if propensities is None:
        require("a randomised policy must give its `propensities`", not policy.randomised, policy)
        return
    # Chernoff: n kl(share, p) is above x with a probability below exp(-x) on each side of p, for each arm in each state.
    limit = math.log(2 * sum(len(draws.available) for draws in _DRAWS) / _ALARM)
    for p, share in zip(propensities, drawn / keys, strict=True):
        fits = keys * kl_bernoulli(share, min(1.0, max(0.0, p))) <= limit
        where = f"round {t}, arms {arms}: {propensities} against {drawn / keys}"
        require("propensities must be those of `choose`", fits, where)


def checked_propensities(policy: Policy, state: NamedTuple, t: int, arms: Ints) -> Floats | None:
    """Return the propensities of `arms`, after checks, if the policy has a function for them."""
    propensities = policy.kernel.propensities
    if propensities is None:
        return None
    out, trial = np.zeros(arms.size), states.copy(state)
    arguments = policy.params, trial, t, arms, out
    guarded_for(EntryPoint(propensities, policy, arguments, allocates=True))(*arguments)
    where = f"round {t}, arms {arms}: {out}"
    require("propensities must lie between 0 and 1", bool(np.all((out > -_EXACT) & (out < 1.0 + _EXACT))), where)
    require("propensities must sum to 1", bool(abs(out.sum() - 1.0) < _EXACT), where)
    return out
