"""Write the two files of a new policy, with the places to fill in: `make policy NAME=my-ucb`.

What is written is a complete policy with its reference: it passes every check as it is. It pulls the arm with the largest mean
plus a width or, for `make policy NAME=my-ts KIND=random`, sometimes a random arm. The class is also added to the imports for
type checkers in `rotting/__init__.py`.
"""

import argparse
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
CAPITALS = {"ucb", "kl", "glr", "ts", "swa", "raw", "sw"}

POLICY = '''"""{cls}: fill in the idea in one line."""

{math}from typing import NamedTuple

import numpy as np

from rotting.kit import {kit}


class {cls}(Policy):
    """Fill in the idea in one line.

    Pulls {formula}: fill in the formula, and map its symbols to arguments.

    Args:
        {parameter}: {meaning}.

    Needs to know {parameter}: fill in what must be known, and whether it is sound for rested and for restless rotting.

    Example:
        >>> {cls}({parameter}=0.5)
        {cls}({parameter}=0.5)

    Reference: fill in authors, title, venue, year, and which algorithm or equation.
    """

    {parameter}: float = parameter({rule}, "{meaning}", default={default})

    name = "{name}"
    title = "{cls}"  # fill in the name in figures and tables, as the paper writes it
    {flag} = True


class State(NamedTuple):
    # Arms of a live bandit come and go, so the number of rows is not K. A formula with K reads `s.presence.number[0]`, all
    # arms, or `arms.size`, the available ones. For the first, import `Presence` and `new_presence`, add a field
    # `presence: Presence`, and pass `presence=new_presence(n_arms)` in `init`.
    pulls: Ints  # [K] N_i
    high: Floats  # [K] sum of the arm's rewards, as high + low
    low: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(pulls=np.zeros(n_arms, np.int64), high=np.zeros(n_arms), low=np.zeros(n_arms))


{functions}

def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.pulls[arm] += 1
    s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], reward)


{cls}.kernel = Kernel({kernel})
'''

TEST = '''"""{cls}: fill in what these tests check."""

{math}from collections.abc import Sequence

import pytest

{log}from rotting.policies.{module} import {cls}
from tests.helpers.games import assert_equals_reference, assert_equals_reference_while_arms_change, play
from tests.reference.policy import {reference}


class Naive(Policy):
    """The publication's rule, slow and obvious: it keeps all rewards and recomputes. Fill in its line or equation.{draws}"""

{naive}

# Fill in other values of each parameter: the common tests play the defaults only.
@pytest.mark.parametrize("policy", [{cls}({parameter}=0.3), {cls}({parameter}=0.9)], ids=repr)
def test_choices_with_other_parameters_equal_the_reference(policy: {cls}) -> None:
    assert_equals_reference(policy, 60)
    assert_equals_reference_while_arms_change(policy, 60, "falling", "coins")


def test_the_better_arm_is_pulled_more_often() -> None:
    """Fill in what is special about this policy."""
    chosen = play({cls}({parameter}=0.1), [[0.0] * 50, [1.0] * 50], 50)
    assert chosen.count(1) > chosen.count(0)
'''

INDEX = {
    "math": "import math\n",
    "kit": "POSITIVE, Floats, Ints, Kernel, Params, Policy, Reason, add, by_index, parameter, width",
    "formula": "the arm with the largest `mean_i + sigma sqrt(2 ln(t) / N_i)`",
    "parameter": "sigma",
    "meaning": "sub-Gaussian scale of the rewards",
    "rule": "POSITIVE",
    "default": "1.0",
    "flag": "has_index",
    "functions": """def index(p: Params, s: State, t: int, i: int) -> Reason:
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = s.high[i] / n, width(1.0, p.sigma, t, n)
    return Reason(mean + c, mean, n, c)
""",
    "kernel": "init, update=update, **by_index(index)",
    "log": "from rotting.kit import log\n",
    "reference": "Policy, argmax, mean",
    "draws": "",
    "naive": """    def __init__(self, n_arms: int, *, sigma: float) -> None:
        super().__init__(n_arms)
        self.sigma = sigma

    def index(self, t: int, i: int) -> float:
        return mean(self.rewards[i]) + self.sigma * math.sqrt(2 * log(t) / len(self.rewards[i]))

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        return argmax(lambda i: self.index(t, i), arms) if new is None else new
""",
}
"""What fills `POLICY` and `TEST` for a policy that pulls the arm with the largest index."""

RANDOM = {
    "math": "",
    "kit": "PROBABILITY, Floats, Ints, Kernel, Params, Policy, add, first_new, parameter, uniform",
    "formula": "a random arm with probability epsilon, else the largest mean",
    "parameter": "epsilon",
    "meaning": "probability of a random arm",
    "rule": "PROBABILITY",
    "default": "0.1",
    "flag": "randomised",
    "functions": """def largest_mean(s: State, arms: Ints) -> int:
    best = arms[0]
    for i in arms:
        if s.high[i] / s.pulls[i] > s.high[best] / s.pulls[best]:
            best = i
    return int(best)


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    new = first_new(s, arms)
    if new >= 0:
        return new
    if uniform(key, t, 0) < p.epsilon:
        return int(arms[int(uniform(key, t, 1) * arms.size)])
    return largest_mean(s, arms)


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    new = first_new(s, arms)
    epsilon = 0.0 if new >= 0 else p.epsilon
    out[:] = epsilon / arms.size
    out[arms == (new if new >= 0 else largest_mean(s, arms))] += 1.0 - epsilon
""",
    "kernel": "init, choose, update, propensities=propensities",
    "log": "",
    "reference": "Draws, Policy, argmax, mean",
    "draws": """

    Draw 0 decides whether the arm is random, and draw 1 which arm it is.
    """,
    "naive": """    def __init__(self, n_arms: int, *, epsilon: float, uniform: Draws) -> None:
        super().__init__(n_arms)
        self.epsilon, self.uniform = epsilon, uniform

    def choose(self, t: int, arms: Sequence[int] | None = None) -> int:
        arms = self.available(arms)
        new = self.never_pulled(arms)
        if new is not None:
            return new
        if self.uniform(t, 0) < self.epsilon:
            return arms[int(self.uniform(t, 1) * len(arms))]
        return argmax(lambda i: mean(self.rewards[i]), arms)
""",
}
"""The same for a policy that draws."""


def class_name(name: str) -> str:
    """Return the class of a policy: `my-ucb` is `MyUCB`.

    Example:
        >>> class_name("my-ucb"), class_name("f-discounted-ts")
        ('MyUCB', 'FDiscountedTS')
    """
    return "".join(part.upper() if part in CAPITALS else part.capitalize() for part in name.split("-"))


def write(name: str, cls: str, parts: Mapping[str, str] = INDEX, root: Path = ROOT) -> list[Path]:
    """Write the files of the policy `name` under `root`, and return their paths."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise SystemExit(f"NAME must be lower-case words with hyphens, such as my-ucb, got {name!r}")
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", cls):
        raise SystemExit(f"the name of the class must be letters and digits after a capital, such as MyUCB, got {cls!r}")
    module = name.replace("-", "_")
    for word in (module, cls):
        if keyword.iskeyword(word):
            raise SystemExit(f"NAME must not be a keyword of Python, got {word!r}")
    files = {
        root / "src" / "rotting" / "policies" / f"{module}.py": POLICY,
        root / "tests" / "policies" / f"test_{module}.py": TEST,
    }
    for path in files:
        if path.exists():
            raise SystemExit(f"{path} exists")
    for path, text in files.items():
        path.write_text(text.format(**parts, cls=cls, name=name, module=module), "utf-8")
    public = root / "src" / "rotting" / "__init__.py"
    public.write_text(with_import(public.read_text("utf-8"), module, cls), "utf-8")
    return [*files, public]


def with_import(text: str, module: str, cls: str) -> str:
    """Return the source of `rotting/__init__.py` with the policy among the imports for type checkers."""
    lines = re.findall(r"^    from rotting\.policies\..*\n", text, re.MULTILINE)
    added = sorted([*lines, f"    from rotting.policies.{module} import {cls} as {cls}\n"])
    return text.replace("".join(lines), "".join(added))


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.new_policy", usage="%(prog)s NAME [--random]")
    parser.add_argument("names", metavar="NAME", nargs="*", help="such as my-ucb, or my-ucb:MyUCB to name the class")
    parser.add_argument("--random", action="store_true", help="a policy that draws")
    options = parser.parse_args(arguments)
    if len(options.names) != 1:
        parser.error(f"NAME must be one name such as my-ucb, got {' '.join(options.names) or 'none'}")
    name, _, cls = options.names[0].partition(":")
    for written in write(name, cls or class_name(name), RANDOM if options.random else INDEX):
        sys.stdout.write(f"{written.relative_to(ROOT)}\n")
    sys.stdout.write(
        f"Next: fill them in. `make check TESTS='tests/policies tests/live -k {name}'` checks them, and "
        "`.venv/bin/ruff check --fix . && .venv/bin/ruff format .` mends their style. CONTRIBUTING.md describes each step.\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
