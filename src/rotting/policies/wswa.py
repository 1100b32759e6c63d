"""wSWA: SWA without the horizon, in epochs of doubling length."""

from dataclasses import replace

from rotting.common.rules import POSITIVE
from rotting.policies import swa
from rotting.policies.kernels.binding import bind
from rotting.policies.parts.doubling import doubled_kernel
from rotting.policies.swa import SWA, State, new_state, tuned_window
from rotting.policy import Params, Policy, parameter


class WSWA(Policy):
    """SWA in epochs of 1, 2, 4, ... rounds, each from scratch and tuned to its own length.

    In an epoch of length T every arm is pulled M times in turn, and then always the one with the largest mean of its last M
    pulls in the epoch, with `M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))`, at most T.

    Args:
        alpha: scale of the window. The authors' runs of RAW-UCB have 0.002, 0.02 and 0.2.
        sigma: sub-Gaussian scale of the rewards.

    Needs the scale of the rewards, and neither the horizon nor the number of changes. Sound for rested rotting; under restless
    rotting it tries all arms again at each epoch, which is too seldom for a guarantee.

    Example:
        >>> WSWA(alpha=0.02)
        WSWA(alpha=0.02, sigma=1.0)

    Reference: Levine, Crammer, Mannor, "Rotting bandits", NeurIPS 2017.
    """

    alpha: float = parameter(POSITIVE, "scale of the tuned window", default=0.2)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards", default=1.0)

    name = "wswa"
    title = "wSWA"
    has_index = True
    first_pulls = False
    rested = True
    memory = "O(K t)"


def tune(p: Params, s: State) -> None:
    s.window[0] = tuned_window(s.presence.number[0], int(s.epoch[1]), p.alpha, p.sigma)


reset = bind(swa.reset, {swa.tune: tune})


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = new_state(n_arms, capacity)
    reset(p, s, 1)
    return s


WSWA.kernel = doubled_kernel(replace(SWA.kernel, init=init, reset=reset, tune=tune))
