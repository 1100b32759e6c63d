"""Type checkers know the public names and every parameter of every policy: they find what is wrong in a user's program."""

import ast
import functools
import importlib.util
import json
import operator
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

import rotting
from rotting.common.rules import Option
from rotting.policy import Policy
from rotting.registry import list_policies
from tests.helpers.missing_tools import skip_or_fail

ROOT = Path(__file__).parent.parent
POLICIES = [each for each in list_policies() if each.__module__.startswith("rotting.policies.")]

USER = '''
"""A user's program: every line marked `wrong` is, and no other."""

from typing import Literal, assert_type

import numpy as np

import rotting
from rotting.kit import POSITIVE, Floats, Kernel, Noise, Policy, check_noise, width

policies: list[Policy] = [rotting.RAWUCB(), rotting.RAWUCB(1.4, 1), rotting.EffRAWUCB(alpha=1.4, m=2), rotting.GreedyOracle()]
policy = rotting.KLUCB("gaussian", sigma=0.5)
assert_type(rotting.RAWUCB(alpha=np.float64(2)).alpha, float)
assert_type(rotting.AdSwitch(horizon=100).horizon, int)
assert_type(rotting.AdSwitch(horizon=100).outside, Literal["refuse", "clip"])
assert_type(rotting.RAWUCB(sigma="estimate").sigma, float | Literal["estimate"])
assert_type(rotting.Exp3(horizon=1_000, low=-1, outside="clip"), rotting.Exp3)
assert_type(rotting.GLRKLUCB(horizon=1_000), rotting.GLRKLUCB)
assert_type(rotting.doubling(rotting.SWA(horizon=100)), Policy)
problem = rotting.problems.two_arms(L=0.3, horizon=1_000)
result = rotting.simulate([*policies, policy], problem, runs=10)
assert_type(result.regret, Floats)
bandit = rotting.Bandit(rotting.UCB1(), arms=["a", "b"])
assert_type(bandit, rotting.Bandit[str])
assert_type(bandit.pull(), str)
assert_type(bandit.decide(), rotting.Decision[str])
assert_type(bandit.decide(count=2, without=("a",))[0].arm, str)
assert_type(bandit.preview(), tuple[rotting.Decision[str], ...])
assert_type(bandit.arms, tuple[str, ...])
assert_type(bandit.propensities(), dict[str, float])
assert_type(rotting.Bandit(rotting.UCB1(), arms=range(3)).pull(), int)
assert_type(rotting.open("store.rot", rotting.UCB1(), arms=["a", "b"]).decide().arm, str)
resumed: rotting.Bandit[str] = rotting.Bandit.from_state(bandit.get_state())
reopened: rotting.Bandit[int] = rotting.open("store.rot")
for arm, explanation in bandit.explain().items():
    assert_type(arm, str)
    bandit.update(arm, explanation.mean)


def play(bandit: rotting.Bandit) -> rotting.Decision:
    """Take any bandit, whatever its arms are."""
    decision = bandit.decide()
    bandit.reward(decision, 1.0)
    return decision


assert_type(play(resumed).id, str)
noise: Noise = rotting.Gaussian(0.5)
check_noise(noise)
rotting.check_policy(policy)
kernel: Kernel = policy.kernel
bound: float = width(1.4, POSITIVE.check("sigma", 1), 10, 5)

rotting.RAWUCB(alhpa=1.4)  # wrong
rotting.RAWUCB(alpha="1.4")  # wrong
rotting.RAWUCB(1.4, 1.0, 2.0)  # wrong
rotting.RAWUCP()  # wrong
rotting.AdSwitch()  # wrong
rotting.AdSwitch(horizon=1e3)  # wrong
rotting.KLUCB("gausian")  # wrong
rotting.Exp3(outside="cut")  # wrong
rotting.Exp3(horizon=1_000, lwo=-1)  # wrong
rotting.CUSUMUCB(T=1_000, breakpoints=2)  # wrong
rotting.UCB1().sigma = 2.0  # wrong
rotting.simulate(policy, problem, rnus=10)  # wrong
rotting.check_noise(policy)  # wrong
bandit.update(1, 1.0)  # wrong
bandit.decide(without=[1])  # wrong
bandit.add_arm(("a", 1))  # wrong
number: int = bandit.pull()  # wrong
rotting.Bandit(rotting.UCB1(), arms=[["a"]])  # wrong
'''.lstrip()

WRONG = [number for number, line in enumerate(USER.splitlines(), start=1) if line.endswith("# wrong")]


def test_type_checkers_see_every_public_name() -> None:
    """A name that is missing needs its line among the imports for type checkers in `rotting/__init__.py`."""
    tree = ast.parse(Path(rotting.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names if alias.asname == alias.name}
    assert sorted({*seen, "__version__"}) == rotting.__all__
    for name, path in seen.items():
        assert pydoc.locate(path) is getattr(rotting, name), name


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.__name__)
def test_the_annotations_of_fields_agree_with_their_rules(policy: type[Policy]) -> None:
    for each in policy.parameters():
        numbers: tuple[Any, ...] = () if isinstance(each.rule, Option) else (int,) if each.rule.whole else (float,)
        words = [word if isinstance(word, str) else word[0] for word in getattr(each.rule, "words", ())]
        told = Literal[tuple(words)] if words else None
        expected = [*numbers, *([told] if words else [])]
        assert each.annotation == functools.reduce(operator.or_, expected), each.name


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(USER, "utf-8")
    return path


def check(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_mypy_finds_what_is_wrong(program: Path) -> None:
    # With the settings, and so with the cache, of `make lint`.
    told = check(sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(program))
    errors = re.findall(r"program\.py:(\d+): error", told)
    assert sorted({*map(int, errors)}) == WRONG, told


def test_pyright_finds_what_is_wrong(program: Path) -> None:
    # basedpyright is pyright as a package that brings all it runs on; `strict` is all that pyright can check.
    if importlib.util.find_spec("basedpyright") is None:
        skip_or_fail("basedpyright is not installed")
    settings = program.parent / "pyrightconfig.json"
    told = {"include": ["program.py"], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "strict"}
    settings.write_text(json.dumps(told), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(settings)]
    found = json.loads(check(*command, "--pythonpath", sys.executable))
    errors = [each for each in found["generalDiagnostics"] if each["severity"] == "error"]
    assert sorted({each["range"]["start"]["line"] + 1 for each in errors}) == WRONG, errors
