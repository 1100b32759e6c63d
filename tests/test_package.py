"""The package as users meet it: its names, its imports, its documents."""

import ast
import importlib
import importlib.metadata
import inspect
import operator
import pydoc
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from rotting.registry import list_policies
from rotting.server.client.client import RemoteBandit
from rotting.server.store.durable import DurableBandit
from tests.conftest import INTERPRETED

rotting: Any = importlib.import_module("rotting")
ROOT = Path(__file__).parent.parent
OWN_PAGE = ROOT / "docs" / "your-own-policy.md"
NAMES = {
    "Advice",
    "AsyncClient",
    "Bandit",
    "Bernoulli",
    "Beta",
    "Binomial",
    "ByArm",
    "Client",
    "Contaminated",
    "Decision",
    "Diagnosis",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Log",
    "LogNormal",
    "Noiseless",
    "Poisson",
    "Policy",
    "Problem",
    "ProblemFamily",
    "Reason",
    "Replay",
    "Resampled",
    "Result",
    "RewardsWarning",
    "Simulation",
    "Student",
    "Study",
    "Trajectory",
    "__version__",
    "adapters",
    "advise",
    "check_noise",
    "check_policy",
    "datasets",
    "diagnose",
    "display",
    "doubling",
    "errors",
    "fit",
    "grid",
    "kit",
    "list_policies",
    "make",
    "open",
    "play",
    "problems",
    "registry",
    "replay",
    "simulate",
    "simulate_all",
    "sweep",
    "theory",
    "tuned",
}
POLICIES = {each.__name__ for each in list_policies() if each.__module__.startswith("rotting.policies.")}
PUBLIC = [name for name in sorted(NAMES | POLICIES) if name != "__version__"]


def python(code: str, *arguments: str, timeout: int = 120) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def test_all_is_exact() -> None:
    assert {"RAWUCB", "EffRAWUCB", "FEWA", "EffFEWA", "UCB1", "Uniform", "GreedyOracle"} <= POLICIES
    assert list(rotting.__all__) == sorted(NAMES | POLICIES)
    assert dir(rotting) == list(rotting.__all__)
    for name in rotting.__all__:
        getattr(rotting, name)


def test_help_shows_the_public_names() -> None:
    text = pydoc.plain(pydoc.render_doc(rotting))
    first = text.partition("CLASSES")[0]
    for name in NAMES - {"__version__"}:
        assert re.search(rf"\b{name}\b", first), name
    for policy in POLICIES:
        assert f".{policy}\n" in text


def test_the_package_can_be_reloaded() -> None:
    again = python("import importlib, rotting; importlib.reload(rotting); import rotting.simulation; print(rotting.UCB1())")
    assert (again.stdout, again.stderr) == ("UCB1(sigma=1.0)\n", "")


def test_a_wrong_name_gets_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean 'RAWUCB'"):
        rotting.RAWUCP  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'WSWA'"):
        rotting.wSWA  # noqa: B018
    with pytest.raises(AttributeError, match="^module 'rotting' has no attribute 'raw_ucb'; did you mean 'RAWUCB'"):
        rotting.raw_ucb  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(rotting, name)
    assert (inspect.getdoc(thing) or "").strip()
    if inspect.isclass(thing):
        assert thing.__doc__
        for part, value in vars(thing).items():
            if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, property | classmethod)):
                assert inspect.getdoc(getattr(thing, part)), f"{name}.{part}"
    elif not isinstance(thing, ModuleType):
        assert inspect.signature(thing).return_annotation is not inspect.Signature.empty


def documented() -> list[tuple[str, Any]]:
    """Every public function and class, and every public method of these classes, with its name."""
    things = [(name, getattr(rotting, name)) for name in PUBLIC]
    methods = [
        (f"{name}.{part}", getattr(thing, part))
        for name, thing in things
        if inspect.isclass(thing)
        for part, value in vars(thing).items()
        if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod))
    ]
    return [(name, thing) for name, thing in [*things, *methods] if callable(thing)]


def test_arguments_are_documented_in_the_order_of_the_signature() -> None:
    seen = 0
    for name, thing in documented():
        section = re.search(r"^Args:\n((?:    .*\n|\n)+)", f"{inspect.getdoc(thing)}\n", re.MULTILINE)
        if section is not None:
            names = re.findall(r"^    (\w+): ", section[1], re.MULTILINE)
            assert names == [each for each in inspect.signature(thing).parameters if each in names], name
            seen += 1
    assert seen > 40


def test_what_docstrings_refer_to_is_there() -> None:
    text = "".join(path.read_text("utf-8") for path in Path(rotting.__file__).parent.rglob("*.py"))
    names = {*re.findall(r"`(rotting(?:\.\w+)+)`", text)}
    assert len(names) > 5
    assert [name for name in sorted(names) if pydoc.locate(name) is None] == []


def public_docstrings() -> dict[str, str]:
    """The docstrings that `help` shows, of all public modules, functions, classes and methods, without examples: those run."""
    found: dict[str, str] = {}
    left: list[tuple[str, Any]] = [("rotting", rotting), ("open", DurableBandit), ("Client.bandit", RemoteBandit)]
    while left:
        name, thing = left.pop()
        if name in found:
            continue
        lines = (inspect.getdoc(thing) or "").splitlines()
        found[name] = "\n".join(line for line in lines if not line.lstrip().startswith((">>>", "...")))
        if isinstance(thing, ModuleType):
            left += [(f"{name}.{part}", getattr(thing, part)) for part in public_names(thing)]
        elif inspect.isclass(thing):
            own = {part for kind in thing.__mro__ if kind.__module__.startswith("rotting.") for part in vars(kind)}
            left += [(f"{name}.{part}", getattr(thing, part)) for part in own if not part.startswith("_")]
    return found


def public_names(module: ModuleType) -> list[str]:
    """What a module lists; of one that lists nothing, what it defines."""
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", [name for name in defined if not name.startswith("_")]))


def is_reachable(name: str, classes: dict[str, type]) -> bool:
    """Whether `import rotting` is all that a user needs for a dotted name, which may also begin with a public class."""
    first, *rest = name.split(".")
    thing: Any = rotting if first == "rotting" else classes.get(first)
    for part in rest:
        if inspect.isclass(thing) and part in thing.__annotations__:
            return True  # a field, which is an attribute of the instances alone
        if thing is None or (isinstance(thing, ModuleType) and part not in public_names(thing)) or not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return thing is not None


def test_users_can_reach_every_dotted_name_in_a_public_docstring() -> None:
    docstrings = public_docstrings()
    modules = [each for each in map(pydoc.locate, docstrings) if isinstance(each, ModuleType)]
    things = [getattr(module, name) for module in modules for name in public_names(module)]
    classes = {each.__name__: each for each in things if inspect.isclass(each)}
    named = {
        (name, where)
        for where, text in docstrings.items()
        for name in re.findall(r"\brotting(?:\.[A-Za-z_]\w*)+|(?<=`)[A-Z]\w*[a-z]\w*(?:\.[A-Za-z_]\w*)+", text)
    }
    assert len({name for name, _ in named}) > 20
    assert [(name, where) for name, where in sorted(named) if not is_reachable(name, classes)] == []


@pytest.mark.parametrize(
    ("code", "absent"),
    [("import rotting", "numpy"), ("import rotting; rotting.RAWUCB(); rotting.problems.two_arms(); rotting.kit", "numba")],
)
def test_importing_imports_no_numpy_and_compiles_nothing(code: str, absent: str) -> None:
    done = python(f"{code}\nimport sys; print({absent!r} in sys.modules)")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_version_is_one() -> None:
    assert importlib.metadata.version("rotting") == rotting.__version__
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert first is not None
    assert first[1] == rotting.__version__


CHECK_NOISE = """
import sys
sys.path[:0] = sys.argv[1:]
import json, my_noises, rotting
from rotting.problems.noise import from_json

exec(COMMAND)
assert from_json(json.loads(json.dumps(my_noises.Logistic(2).to_json()))) == my_noises.Logistic(2)
problem = rotting.problems.Problem.rested([[0.5] * 50, [0.25] * 50], noise=my_noises.Logistic())
assert rotting.simulate(rotting.UCB1(), problem, runs=2).problem["noise"] == {"noise": "Logistic", "b": 1.0}
print("kept")
"""


def worked_examples() -> tuple[str, str]:
    """The files of a policy and of a noise of one's own."""
    text = OWN_PAGE.read_text("utf-8")
    own, noise = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return own, noise


def with_command(check: str, named: str) -> str:
    """Return a script that runs what the page says to run where it has `exec(COMMAND)`."""
    text = OWN_PAGE.read_text("utf-8")
    (command,) = (line for line in re.findall(r"^python -c .*$", text, re.MULTILINE) if named in line)
    _, _, code = shlex.split(command)
    return check.replace("COMMAND", repr(code))


CHECK_FIRST = """
import sys
sys.path[:0] = sys.argv[1:]
import my_policies, rotting

exec(COMMAND)
policy = my_policies.EpsilonGreedy(epsilon=1, decay=0.5)
bandit = rotting.Bandit(policy, arms=["a", "b"])
for arm in ("a", "b"):
    assert bandit.propensities()[arm] == 1.0
    bandit.update(bandit.pull(), 1.0 if arm == "b" else 0.0)
assert bandit.propensities() == {"a": 0.125, "b": 0.875}
assert rotting.simulate(policy, rotting.problems.two_arms(horizon=50), runs=3).pulls.sum() == 150
print("kept")
"""


def test_the_policy_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "my_policies.py").write_text(worked_examples()[0], "utf-8")
    done = python(with_command(CHECK_FIRST, "my_policies"), str(tmp_path), timeout=300)
    assert (done.stdout, done.stderr) == ("kept\n", "")


def test_the_noise_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "my_noises.py").write_text(worked_examples()[1], "utf-8")
    done = python(with_command(CHECK_NOISE, "my_noises"), str(tmp_path), timeout=300)
    assert (done.stdout, done.stderr) == ("kept\n", "")


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_documents_are_as_wide_as_the_code(document: Path) -> None:
    lines = document.read_text("utf-8").splitlines()
    assert not [line for line in lines if len(line) > 128 and not line.startswith("|")]  # a row of a table is one line


@pytest.mark.parametrize("number", [0, 1], ids=["own", "noise"])
def test_the_worked_examples_import_from_the_kit_alone(number: int) -> None:
    imports = [node for node in ast.walk(ast.parse(worked_examples()[number])) if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in imports if (node.module or "").startswith("rotting")] == ["rotting.kit"]


def test_the_kit_is_documented_and_has_what_it_lists() -> None:
    kit = rotting.kit
    assert dir(kit) == sorted(kit.__all__)
    for name in kit.__all__:
        assert re.search(rf"\b{name}\b", kit.__doc__.partition("Example,")[0]), name
        getattr(kit, name)
    assert kit.check_policy is rotting.check_policy
    with pytest.raises(AttributeError, match="module 'rotting.kit' has no attribute 'check'"):
        kit.check  # noqa: B018


CHECK_OWN = """
import random, sys
sys.path[:0] = sys.argv[1:]
import rotting
from tests.helpers import games
from tests.helpers import window_policies as own

rng = random.Random(0)
for _ in range(5):
    table = [[rng.gauss(-0.02 * n * i, 1) for n in range(200)] for i in range(4)]
    exact, efficient = rotting.RAWUCB(), rotting.EffRAWUCB()
    for mine, theirs in (
        (own.OwnRAWUCB(), exact),
        (own.OwnRAWUCBOfAnyWidth(), exact),
        (own.OwnEffRAWUCB(), efficient),
    ):
        chosen = games.play(mine, table, 200, fast=False)
        assert len(set(chosen)) == 4
        assert chosen == games.play(theirs, table, 200, fast=False)
print("kept")
"""


def test_the_kit_is_enough_for_the_policies_of_the_paper() -> None:
    done = python(CHECK_OWN, str(ROOT), timeout=300)
    assert (done.stdout, done.stderr) == ("kept\n", "")


@pytest.mark.skipif(INTERPRETED, reason="once is enough")
@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
@pytest.mark.parametrize(
    ("where", "number"),
    [("src/my_noises.py", 1), ("src/rotting/policies/my_policies.py", 0)],
)
def test_the_worked_examples_have_the_style_of_the_library(where: str, number: int, command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--stdin-filename", where, "-"],
        cwd=ROOT,
        input=worked_examples()[number],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


CALLED = ("rotting", "rotting.adapters", "rotting.datasets", "rotting.display", "rotting.problems", "rotting.theory")
SHOWN: tuple[type, ...] = (rotting.Result, rotting.Study, rotting.Trajectory, rotting.Problem)


def public_functions() -> dict[str, Any]:
    """What a user calls: the functions of every public module but the kit, whose kernels the worked examples show."""
    modules = {name: operator.attrgetter(name.partition(".")[2])(rotting) if "." in name else rotting for name in CALLED}
    found = {
        f"{name}.{each}": getattr(module, each)
        for name, module in modules.items()
        for each in module.__all__
        if inspect.isfunction(getattr(module, each))
    }
    for kind in SHOWN:
        found |= {
            f"{kind.__name__}.{name}": getattr(kind, name) for name, value in vars(kind).items() if is_method(name, value)
        }
    return found


def is_method(name: str, value: object) -> bool:
    return not name.startswith("_") and isinstance(value, FunctionType | classmethod | staticmethod)


@pytest.mark.parametrize(
    ("name", "function"), public_functions().items(), ids=lambda each: each if isinstance(each, str) else ""
)
def test_every_public_function_has_an_example(name: str, function: Any) -> None:
    """Which runs as a doctest."""
    assert ">>>" in (function.__doc__ or ""), name
