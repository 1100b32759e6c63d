"""Along which clock do arms wear out: their own pulls, or time? Units that met the same arm at different rates can tell.

Within one unit the pulls of an arm grow with time, so every curve along one clock is a curve along the other. Units with much
traffic pull an arm faster than units with little. If pulls matter, an arm wears out faster in the busy units; if time matters,
it wears out in all units together.

Four hypotheses are compared: arms wear out with neither clock, with pulls, with time, or with both. Each is a model of the
rewards (`wear_model.py`) with free levels of units and arms, in which the curves of the clocks that matter have one scale. The
probability of the rewards under a hypothesis is an integral over all levels and curves. It has a closed form once the
likelihood is taken to be quadratic around its mode (Laplace's method). A model that can explain more rewards gives each of them
a smaller probability, so a second clock is named only if it explains enough.
"""

from typing import Final, Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.logs.log import Log
from rotting.logs.wear_model import (
    COEFFICIENTS,
    PULL_STEPS,
    TIME_BINS,
    TIME_STEPS,
    Fit,
    Rows,
    UnitCells,
    WearModel,
    count_cells,
    select_rows,
    step_prior,
    time_bins,
)

Clock = Literal["pulls", "time", "both"]
"""What wears arms out: their own pulls, time, or both."""
Hypothesis = Literal["none", Clock]
"""What the rewards of a log are compared with."""
Decay = Literal[Hypothesis, "cannot tell"]
"""The verdict on a log."""
CANNOT_TELL: Final = "cannot tell"

FEWEST_UNITS = 8  # with fewer, the level of a busy unit cannot be told from the wear that only busy units show
# The model of rewards is normal around its mode. A single early click is then a fall that no noise explains: where nothing wore
# out, 9 of 16 logs with one click named two clocks, 6 of 32 with four, and none of 80 with six or more.
FEWEST_EFFECTIVE_REWARDS = 10
# Above this entanglement, units met each arm at nearly the same rates, and say almost nothing. Bins that are not quite the same
# along both clocks then look like two clocks: of 16 logs of clicks in 20 units of equal traffic (0.96), where one clock
# mattered, 12 were said to wear out along both. The logs of docs/diagnosis.md lie between 0.3 and 0.8.
MOST_ENTANGLED = 0.9
HYPOTHESES: dict[Hypothesis, tuple[bool, bool]] = {
    "none": (False, False),
    "pulls": (True, False),
    "time": (False, True),
    "both": (True, True),
}
# How far curves fall on average: logarithms of levels, or in terms of the typical reward. Falls below 10 % matter little, and
# an arm that falls by two standard deviations more than the largest scale has lost 99 % of its level.
SCALES = (0.1, 0.2, 0.4, 0.8, 1.6)
# The likelihood is taken to be quadratic around the mode for curves of this scale. A mode of its own for each hypothesis, at
# twice the time, changed no verdict among 36 logs, and the logarithms of odds below 10 by less than 0.2.
MIDDLE = 0.4
# These two do not decide a verdict either, as tests/logs/test_clocks.py checks.
NEGLIGIBLE = 1e-6  # the weight below which a fit is left out, which saves time
RIDGE = 1e-9  # is added to the diagonal of the information on levels, relative to its trace: an arm without a click has none


class ClockComparison(NamedTuple):
    """What the units say about the clocks.

    Attributes:
        probabilities: of the hypotheses, if each is as likely as the others before any reward is seen.
        falls: how far arms fell along each clock, if both may matter: the mean over the rows.
        heterogeneity: how much the units differ in how fast arms wear out; standard normal if they differ in their levels only.
    """

    probabilities: dict[Hypothesis, float]
    falls: dict[Clock, float]
    heterogeneity: float


def compare_clocks(log: Log) -> ClockComparison:
    """Return how probable it is that arms wear out with pulls, with time, with both or with neither.

    Args:
        log: with at least `FEWEST_UNITS` units and one reward.
    """
    rows = select_rows(log)
    if all(np.ptp(rows.reward[rows.arm == arm]) == 0 for arm in range(rows.n_arms)):
        return ClockComparison({name: float(name == "none") for name in HYPOTHESES}, {"pulls": 0.0, "time": 0.0}, 0.0)
    fits = _fits(rows)
    # The errors are in terms of their variance: half of their sum is what a fit lacks in log-likelihood.
    errors = np.array([fit.error for fit in fits])
    weights = np.exp((errors.min() - errors) / 2)
    weights = np.where(weights > NEGLIGIBLE, weights, 0.0) / weights.sum()
    probabilities = sum(w * _probabilities(fit, rows.n_arms) for w, fit in zip(weights, fits, strict=True) if w > 0)
    named = dict(zip(HYPOTHESES, (probabilities / np.sum(probabilities)).tolist(), strict=True))
    best = fits[int(errors.argmin())]
    return ClockComparison(named, _falls(best, count_cells(rows)), best.heterogeneity)


def _fits(rows: Rows) -> list[Fit]:
    """Return the fits in which units add to the rewards and, where all arms pay on average, multiply them."""
    counted = bool(rows.reward.min() >= 0)
    scaled = rows.reward / (rows.reward.mean() if counted else rows.reward.std())
    # Levels are free, so units that add do not see a shift; without it, levels far from 0 would leave the steps few digits.
    shifted = scaled if counted else scaled - scaled.mean()
    found = [WearModel(count_cells(rows._replace(reward=shifted)), multiplicative=False, counted=counted).fit(MIDDLE)]
    if counted or (np.bincount(rows.arm, scaled) > 0).all():
        found.append(WearModel(count_cells(rows._replace(reward=scaled)), multiplicative=True, counted=counted).fit(MIDDLE))
    return found


def _probabilities(fit: Fit, n_arms: int) -> Floats:
    """Return the probability of each hypothesis."""
    steps = _without_levels(fit, n_arms)
    evidence = np.array([_evidence(*steps, n_arms, *matters) for matters in HYPOTHESES.values()])
    chances = np.exp(evidence - evidence.max())
    return np.asarray(chances / chances.sum())


def _falls(fit: Fit, cells: UnitCells) -> dict[Clock, float]:
    """Return how far arms fell along each clock: the mean over the rows."""
    n_units, n_arms = cells.rows.shape[:2]
    arms = fit.coefficients[n_units - 1 :].reshape(n_arms, COEFFICIENTS)
    by_arm = cells.rows.sum(axis=0)  # [arm, bin of pulls, bin of time]
    found: dict[Clock, float] = {}
    clocks: dict[Clock, tuple[slice, Floats]] = {
        "pulls": (PULL_STEPS, by_arm.sum(axis=2)),
        "time": (TIME_STEPS, by_arm.sum(axis=1)),
    }
    for name, (steps, rows) in clocks.items():
        curves = np.cumsum(arms[:, steps], axis=1)
        found[name] = -float((curves * rows[:, 1:]).sum() / rows.sum())
    return found


def _evidence(information: Floats, linear: Floats, n_arms: int, pulls: bool, time: bool) -> float:
    """Return the logarithm of the probability of the rewards, up to a constant, for all scales together."""
    if not (pulls or time):
        return 0.0
    means, variances = step_prior(float(pulls), float(time))
    kept = np.tile(variances[1:] > 0, n_arms)
    information, linear = information[np.ix_(kept, kept)], linear[kept]
    mean, deviation = (np.tile(each[1:], n_arms)[kept] for each in (means, np.sqrt(variances)))
    found = np.array([_log_evidence(information, linear, scale * mean, scale * deviation) for scale in SCALES])
    return float(found.max() + np.log(np.exp(found - found.max()).mean()))


def _without_levels(fit: Fit, n_arms: int) -> tuple[Floats, Floats]:
    """Return the information and the linear part of all steps, with the levels of units and arms integrated out."""
    size = fit.linear.size
    is_level = np.ones(size, bool)
    is_level[size - n_arms * COEFFICIENTS :].reshape(n_arms, COEFFICIENTS)[:, 1:] = False
    levels, steps = np.flatnonzero(is_level), np.flatnonzero(~is_level)
    information, linear = fit.information, fit.linear
    own = information[np.ix_(levels, levels)]
    own += np.diag(np.full(levels.size, RIDGE * own.trace()))
    mixed = information[np.ix_(levels, steps)]
    solved = np.linalg.solve(own, np.column_stack([mixed, linear[levels]]))
    return information[np.ix_(steps, steps)] - mixed.T @ solved[:, :-1], linear[steps] - mixed.T @ solved[:, -1]


def _log_evidence(information: Floats, linear: Floats, mean: Floats, deviation: Floats) -> float:
    """Return the logarithm of the integral of `exp(linear @ x - x @ information @ x / 2)` over normal x."""
    left = deviation * (linear - information @ mean)
    size = mean.size
    # The last row of the Cholesky factor of a matrix with one more row solves the triangular system for that row.
    extended = np.eye(size + 1)
    extended[:size, :size] += deviation[:, None] * information * deviation
    extended[size, :size] = extended[:size, size] = left
    extended[size, size] = 1 + left @ left
    factor = np.linalg.cholesky(extended)
    explained = float((factor[size, :size] ** 2).sum())
    return explained / 2 - float(np.log(np.diag(factor)[:size]).sum()) + float(mean @ linear - mean @ information @ mean / 2)


def effective_rewards(log: Log) -> float:
    """Return how many rewards make up the variance within arms: `(sum of d**2)**2 / (sum of d**4)` for deviations d.

    k clicks among many rows count as k, and a single outlier as 1; 0 if no reward deviates from the others of its arm.
    """
    arm, reward = log.arm[log.known], log.reward[log.known]
    deviations = reward - (np.bincount(arm, reward) / np.maximum(np.bincount(arm), 1))[arm]
    largest = np.abs(deviations).max(initial=0.0)
    if largest == 0:
        return 0.0
    squares = (deviations / largest) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def entanglement(log: Log) -> float:
    """Return the share of the variance of own pulls that time explains, within arms: 1 if time determines the pulls.

    Close to 1, no log of this kind can tell the clocks apart, however long it is.
    """
    rows = select_rows(log)
    pulls = np.log1p(rows.own_pulls)

    def inside(which: Ints) -> float:
        counts = np.maximum(np.bincount(which), 1)
        return float(((pulls - (np.bincount(which, pulls) / counts)[which]) ** 2).sum())

    within_arms = inside(rows.arm)
    return 1.0 if within_arms == 0 else 1 - inside(rows.arm * TIME_BINS + time_bins(rows)) / within_arms
