"""EFF-RAW-UCB++: RAW-UCB++ on the delayed windows of EFF_UPDATE (Algorithm 2)."""

from typing import Literal

from rotting.common.arrays import Ints
from rotting.common.rules import ABOVE_ONE, NONNEGATIVE, POSITIVE, SCALE
from rotting.policies.eff_raw_ucb import State, init
from rotting.policies.kernels.binding import bind_all
from rotting.policies.parts.delayed_windows import DELAYED_WINDOWS, eff_update, tightest_delayed
from rotting.policies.parts.indices import arm_scale, largest_index, window_width
from rotting.policies.parts.noise_scale import arm_noise, forget, observe_noise
from rotting.policies.raw_ucb_pp import width
from rotting.policy import Kernel, Params, Policy, Reason, parameter


class EffRAWUCBpp(Policy):
    """RAW-UCB++ on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE),
    `c(h, t) = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))` and `x = max(1, t / (K h))`. With `m <= 1 + 1/T` it is
    RAW-UCB++; `RAWUCBpp` says which part of the formula is the author's.

    Args:
        alpha: confidence level. The author's runs: 1 with beta up to 3.5, or 1.4 to 2 with beta = 0.
        beta: weight of the logarithm of the logarithm, zero or more.
        sigma: sub-Gaussian scale of the rewards, or "estimate": see docs/unknown-noise.md.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Meant for rested and for restless
    rotting, as EFF-RAW-UCB is.

    Example:
        >>> EffRAWUCBpp(m=1.1)
        EffRAWUCBpp(alpha=1.4, beta=0.0, sigma=1.0, m=1.1)

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    alpha: float = parameter(POSITIVE, "confidence level", default=1.4)
    beta: float = parameter(NONNEGATIVE, "weight of the logarithm of the logarithm", default=0.0)
    sigma: float | Literal["estimate"] = parameter(SCALE, "sub-Gaussian scale of the rewards, or 'estimate'", default=1.0)
    m: float = parameter(ABOVE_ONE, "ratio of neighbouring windows", default=2.0)

    name = "eff-raw-ucb-pp"
    title = "EFF-RAW-UCB++"
    has_index = True
    rested = True
    restless = True
    cost = "O(K + log t)"
    memory = "O(K log t)"


def index(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    """Return the minimum over h_j <= N_i of mean_i^{h_j} + c(h_j, t)."""
    return tightest_delayed(p, s, t / arms.size, i)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the arm with the largest index, the lowest on a tie; each arm once first. Few of the indices are computed."""
    return largest_index(p, s, t / arms.size, arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the reward by EFF_UPDATE, and learn from it the scale of the noise if sigma is estimated."""
    eff_update(s, arm, reward)
    observe_noise(p, s.noise, arm, reward)


EffRAWUCBpp.kernel = Kernel(
    init,
    update=update,
    forget=forget,
    **bind_all({"choose": choose, "explain": index}, {**DELAYED_WINDOWS, window_width: width, arm_scale: arm_noise}),
)
