"""Two problems with a rested and a restless arm, which no policy can distinguish in time (Proposition 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.tables import FormattedTable, Row, number_format, value_column
from rotting.common.rules import Rule
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems import Abrupt, Constant, Problem, Rested, Restless
from rotting.problems.noise import Noiseless
from rotting.problems.oracle import greedy_rewards, optimal_pair
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate

# The optimum is found by dynamic programming over T^2 states, which must fit into memory.
HORIZON = Rule("a whole number from 2 to 5000", low=2, high=5_000, whole=True)


def unlearnable(horizon: int) -> tuple[Problem, Problem]:
    """Return the two problems of the impossibility, without noise, with means in [0, 1].

    Let H = floor(T / 2). In both, arm 1 is restless: it pays 1/2 in the rounds 1, ..., H and 0 afterwards. Arm 0 pays 1 for its
    first H pulls and then 0 in the first problem, and 1 for ever in the second. In the first the optimal policy pulls
    arm 1 while it pays, then arm 0, for a reward of 3/2 H. In the second it always pulls arm 0, for T. Up to round H nothing
    tells them apart.

    Slips of the paper: arm 1 pays while `t < T / 2`, only T / 2 - 1 rounds for an even T. The greedy oracle's regret would then
    be T / 4 - 1/2, below floor(T / 4) when 4 divides T. Arm 0 pays while `n < T / 2`, ceil(T / 2) pulls for an odd T. The proof
    counts floor(T / 2) of both, and so do we. Its last step writes `J(pi_O)` on the first problem for `J(pi_0)`: regret is
    against the policy that takes arm 1 first, not against the greedy oracle.

    Args:
        horizon: T, from 2 to 5,000.

    Example:
        >>> first, second = unlearnable(8)
        >>> first.mean(0, t=8, n=3), first.mean(0, t=8, n=4), second.mean(0, t=8, n=4), first.mean(1, t=4, n=0)
        (1.0, 0.0, 1.0, 0.5)

    Reference: Proposition 1 (prop:unlearnable).
    """
    T = int(HORIZON.check("horizon", horizon))
    paying_first = Restless(Abrupt(0.5, 0.0, at=T // 2))
    return (
        Problem([Rested(Abrupt(1.0, 0.0, at=T // 2)), paying_first], Noiseless(), T, "unlearnable, arm 0 falls"),
        Problem([Rested(Constant(1.0)), paying_first], Noiseless(), T, "unlearnable, arm 0 stays"),
    )


def greedy_floor(horizon: int) -> int:
    """Return floor(T / 4): the greedy oracle's regret on the first problem is at least this (Proposition 1).

    Example:
        >>> greedy_floor(1_000)
        250
    """
    return int(HORIZON.check("horizon", horizon)) // 4


def learner_floor(horizon: int) -> int:
    """Return floor(T / 8): any policy's larger mean regret of the two problems is at least this (Proposition 1).

    Example:
        >>> learner_floor(1_000)
        125
    """
    return int(HORIZON.check("horizon", horizon)) // 8


def optimal_arms(problem: Problem, horizon: int | None = None) -> Ints:
    """Return the arms that an optimal policy pulls, by dynamic programming; for problems of two arms.

    After t rounds only the number of pulls of arm 0 matters. Ties go to arm 1, whose reward may be there only now.

    Args:
        problem: two arms that follow any clock, rise or fall.
        horizon: T, from 2 to 5,000; the problem's own by default.

    Example:
        >>> optimal_arms(unlearnable(8)[0]).tolist()
        [1, 1, 1, 1, 0, 0, 0, 0]

    Reference: `pi_0` in the proof of Proposition 1 (prop:unlearnable), for its first problem.
    """
    if problem.n_arms != 2:
        raise InvalidValueError("problem", "have 2 arms", problem.n_arms)
    T = int(HORIZON.check("horizon", problem.resolve_horizon(horizon)))
    return optimal_pair(problem.means(T), T)


@dataclass(frozen=True, eq=False)
class Unlearnable:
    """Results of policies on the two problems.

    Args:
        horizon: T.
        falls: the result on the problem whose arm 0 falls.
        stays: the result on the one whose arm 0 stays constant.
    """

    horizon: int
    falls: Result
    stays: Result

    @property
    def regrets(self) -> Floats:
        """`[policy, 2]`, the mean regret at the horizon on the first and on the second problem."""
        return np.stack([each.regret[:, :, -1].mean(axis=1) for each in (self.falls, self.stays)], axis=1)

    @property
    def worst(self) -> Floats:
        """The larger of the two, one per policy: at least floor(T / 8)."""
        return np.asarray(self.regrets.max(axis=1))

    def table(self) -> FormattedTable:
        """Return the mean regrets; the rows have the keys `policy`, `falls`, `stays`, `worst` and `floor`."""
        rows: list[Row] = [
            {
                "policy": label,
                "falls": float(falls),
                "stays": float(stays),
                "worst": float(worst),
                "floor": learner_floor(self.horizon),
            }
            for label, (falls, stays), worst in zip(self.falls.labels, self.regrets, self.worst, strict=True)
        ]
        style = number_format([row["worst"] for row in rows], [])
        columns = (
            value_column("policy"),
            value_column("arm 0 falls", style, "falls"),
            value_column("arm 0 stays", style, "stays"),
            value_column("the larger", style, "worst"),
            value_column("floor(T / 8)", ",d", "floor"),
        )
        heading = (
            f"Mean regret on the two unlearnable problems, horizon {self.horizon:,}; Proposition 1 says at least floor(T / 8)"
        )
        return FormattedTable((heading,), columns, rows)

    def figure(self) -> Figure:
        """Return a figure: why the greedy oracle fails, and that no policy does well on both problems."""
        T, half = self.horizon, self.horizon // 2
        problem, _ = unlearnable(T)
        arms, rounds = optimal_arms(problem), np.arange(1, T + 1)
        earlier = np.where(arms == 0, np.cumsum(arms == 0), np.cumsum(arms == 1)) - 1
        gains = np.array([problem.mean(*step) for step in zip(arms.tolist(), rounds.tolist(), earlier.tolist(), strict=True)])
        reward = Panel(
            title="The problem whose arm 0 falls",
            x_label="round t",
            y_label="cumulative reward",
            curves=(
                Curve("optimal policy", rounds, gains.cumsum()),
                Curve("greedy oracle", rounds, greedy_rewards(problem)),
            ),
            note=f"greedy loses {half / 2:g}, at least floor(T / 4) = {greedy_floor(T)}",
        )
        # Every pull of arm 1 in the first half costs regret on one problem, every pull of arm 0 on the other.
        edge = half / 2
        points = tuple(
            Curve(label, np.array([stays]), np.array([falls]), points=True)
            for label, (falls, stays) in zip(self.falls.labels, self.regrets, strict=True)
        )
        both = Panel(
            title="Both problems: the line is the least possible",
            x_label="regret where arm 0 stays",
            y_label="regret where arm 0 falls",
            curves=(Curve("least possible", np.array([0.0, edge]), np.array([edge, 0.0])), *points),
            note=f"one of both is at least floor(T / 8) = {learner_floor(T)}",
        )
        return Figure(
            name="unlearnable",
            title="Rested and restless rotting together cannot be learned",
            caption=(
                f"Proposition 1, T = {T:,}, no noise. Left: the optimal policy (dynamic programming) takes the restless arm "
                "while it pays, the greedy oracle does not. Right: mean regret of each policy on the two problems, which look "
                "alike for half the game."
            ),
            panels=(reward, both),
            columns=2,
        )


def play_unlearnable(
    policies: Policy | Sequence[Policy], horizon: int, runs: int = 1, seed: int = 0, workers: int | None = None
) -> Unlearnable:
    """Play both problems with policies; in a run, both have the same random numbers.

    Args:
        policies: one or several; if tuned to a horizon, to T or more.
        horizon: T, from 2 to 5,000.
        runs: games of each; one is enough for deterministic policies, as there is no noise.
        seed: a whole number.
        workers: threads; all CPUs by default.

    Example:
        >>> from rotting.registry import make
        >>> played = play_unlearnable([make("greedy-oracle"), make("ucb1")], horizon=80)
        >>> played.regrets[0].tolist(), bool(played.worst[1] >= learner_floor(80))
        ([20.0, 0.0], True)

    Reference: Proposition 1 (prop:unlearnable).
    """
    falls, stays = (
        simulate(policies, problem, runs=runs, seed=seed, workers=workers, progress=False) for problem in unlearnable(horizon)
    )
    return Unlearnable(falls.horizon, falls, stays)
