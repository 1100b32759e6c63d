"""The points of a study, each the runs of one policy on one problem, and the texts that describe them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rotting.common.arrays import Floats
from rotting.common.rules import suggest
from rotting.common.short_numbers import plural, short_texts
from rotting.common.statistics import what_runs_can_miss
from rotting.errors import InvalidValueError
from rotting.policy import Policy
from rotting.problems.oracle import reference_kind, regret_against
from rotting.simulation.result import Result
from rotting.simulation.study_parameters import Value


class Point(NamedTuple):
    """The runs of one policy on one problem."""

    problem: dict[str, Value]
    policy: Policy
    regret: Floats  # [runs] at the horizon
    reference: str  # what it is measured against


@dataclass(frozen=True, eq=False)
class StudyPoints:
    """The points of results over problems whose parameters vary, problem by problem.

    Args:
        parameters: for each parameter of the problems its values, one for each result.
        results: of the same policies.
    """

    parameters: Mapping[str, Sequence[Value]]
    results: Sequence[Result]

    def __iter__(self) -> Iterator[Point]:
        for k, result in enumerate(self.results):
            problem = {name: values[k] for name, values in self.parameters.items()}
            for policy, regret in zip(result.policies, result.regret[:, :, -1], strict=True):
                yield Point(problem, policy, regret, result.reference)

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies, which all problems share."""
        return self.results[0].policies

    @property
    def varying(self) -> tuple[str, ...]:
        """The parameters that have several values: those of the problems, then those of the policies."""
        problems = [name for name, values in self.parameters.items() if len({*values}) > 1]
        return (*problems, *self.policy_parameters)

    @property
    def policy_parameters(self) -> dict[str, tuple[str, str]]:
        """The parameters of policies that vary, as `raw-ucb.alpha`, each with the name of the policy and of the parameter."""
        found = {}
        for kind in dict.fromkeys(each.name for each in self.policies):
            shown = [each.shown_params() for each in self.policies if each.name == kind]
            for name in dict.fromkeys(name for each in shown for name in each):
                if len({each.get(name) for each in shown}) > 1:
                    found[f"{kind}.{name}"] = kind, name
        return found

    @property
    def has_both_references(self) -> bool:
        """Whether some regrets are measured against the optimal policy, and others against the greedy oracle."""
        return len({reference_kind(each.reference) for each in self.results}) > 1

    @property
    def problems_text(self) -> str:
        """The common name of the problems, without their parameters, or their number."""
        names = {each.problem_name.partition("(")[0] for each in self.results}
        return names.pop() if len(names) == 1 else f"{len(self.results)} problems"

    @property
    def horizons_text(self) -> str:
        """The smallest and the largest horizon."""
        return " to ".join(dict.fromkeys(f"{pick(each.horizon for each in self.results):,}" for pick in (min, max)))

    def heading(self, what: str = "") -> tuple[str]:
        """Return the line above a table: the problems, their horizon, runs and seed, and what the table shows."""
        first = self.results[0]
        varying = [name for name, values in self.parameters.items() if len({*values}) > 1 and name != "problem"]
        over = f" over {', '.join(varying)}" if varying else ""
        horizon = "" if "horizon" in varying else f", horizon {self.horizons_text}"
        runs = plural(first.runs, "run")
        seeds = f", seed {first.seed}" if len({each.seed for each in self.results}) == 1 else ""
        return (f"{self.problems_text}{over}{horizon}, {runs}{seeds}{what}",)

    def notes(self) -> tuple[str, ...]:
        """Return the lines below a table, which are also in the caption of a plot."""
        runs = self.results[0].runs
        references = (each.reference for each in self.results)
        return (*regret_against(*references), *([what_runs_can_miss(runs)] if runs > 1 else []))

    def axis(self, name: str, given: str | None, default: str | None) -> str:
        """Return the given parameter after a check, by default `default`; `name` is the name of the argument, for errors."""
        chosen = default if given is None else given
        if chosen is None or chosen not in self.varying:
            known = ", ".join(self.varying) or "none"
            hint = suggest(str(chosen), self.varying) if chosen is not None else ""
            hint += "" if self.varying else ": use table()"
            raise InvalidValueError(name, f"be a parameter that varies ({known})", given, hint=hint)
        return chosen

    def value(self, point: Point, parameter: str) -> Value | None:
        """Return the value of a parameter at a point; None if the point's policy has no such parameter."""
        kind, name = self.policy_parameters.get(parameter, ("", ""))
        if not kind:
            return point.problem[parameter]
        value: Value | None = point.policy.shown_params().get(name) if point.policy.name == kind else None
        return value

    def first_numeric(self) -> str | None:
        """Return the first parameter that varies over numbers."""
        words = {name for name in self.varying if any(isinstance(self.value(point, name), str) for point in self)}
        return next((name for name in self.varying if name not in words), None)

    def texts(self) -> dict[str, dict[Value, str]]:
        """Return the texts of the values of each parameter, for labels."""
        texts = {name: short_texts(values) for name, values in self.parameters.items()}
        for parameter, (kind, name) in self.policy_parameters.items():
            texts[parameter] = short_texts(each.shown_params().get(name, "-") for each in self.policies if each.name == kind)
        return texts
