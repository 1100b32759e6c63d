"""How a result was made, and playing it again; a study for a paper from one script."""

import json
import platform
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.policy import Kernel, Policy
from rotting.problems import Recovering, Rested, two_arms
from rotting.simulation import provenance
from rotting.simulation.engines.chunk_store import ChunkStore
from rotting.simulation.engines.task import Origin
from rotting.simulation.provenance import code_digest
from rotting.simulation.rerun import changes, rerun
from rotting.simulation.result import Result
from tests.helpers.command import run_command

UCB1, RAW = rotting.UCB1(sigma=1.0), rotting.RAWUCB(sigma=1.0)
SCRIPT = """
from pathlib import Path
import numpy as np
import rotting
from rotting.problems import Problem, Restless, rebounding, stationary, two_arms

class Greedy:
    def __init__(self, n_arms, seed):
        self.sums, self.pulls, self.rng = np.zeros(n_arms), np.zeros(n_arms), np.random.default_rng(seed)

    def pull(self):
        if self.pulls.min() == 0 or self.rng.random() < 0.1:
            return self.rng.integers(self.pulls.size)
        return np.argmax(self.sums / self.pulls)

    def update(self, arm, reward):
        self.sums[arm] += reward
        self.pulls[arm] += 1

def crossing(T):
    return Problem([Restless(np.linspace(1, 0, T)), Restless(np.linspace(0, 1, T))], name="crossing")

policies = [Greedy, rotting.tuned(lambda T: rotting.SWUCB(tau=T // 4, sigma=1.0)), rotting.UCB1(sigma=1.0)]
policies += [rotting.RAWUCB(sigma=1.0), rotting.FEWA(sigma=1.0), rotting.Uniform()]
makers = [lambda T: two_arms(1.0, T), lambda T: stationary([0.9, 0.1], horizon=T), crossing, lambda T: rebounding(horizon=T)]
problems = [make(T) for make in makers for T in (20, 40, 80)]
if __name__ == "__main__":
    study = rotting.sweep(policies, problems, runs=6)
    study.save("study")
    Path("table.tex").write_text(study.summary("horizon").to_latex())
    study.plot("round", path="figure.pdf")
"""


def test_a_result_says_how_it_was_made(tmp_path: Path) -> None:
    result = rotting.simulate([UCB1, RAW], two_arms(horizon=30), runs=3, seed=5, record="arms", reference=UCB1)
    made: Any = result.provenance
    assert (made["rotting"], made["Python"], made["NumPy"]) == (rotting.__version__, platform.python_version(), np.__version__)
    assert set(made) == {"rotting", "commit", "Python", "NumPy", "Numba", "machine", "date", "code", "call"}
    assert made["code"] == {repr(each): code_digest(each) for each in (UCB1, RAW)}
    assert len(set(made["code"].values())) == 2
    call = {"horizon": 30, "runs": 3, "seed": 5, "first_run": 0, "record": ["arms"], "reference": UCB1.to_json()}
    assert made["call"] == {**made["call"], **call}
    result.save(tmp_path / "result")
    assert Result.load(tmp_path / "result").provenance == made
    assert json.loads((tmp_path / "result" / "result.json").read_text())["provenance"] == made


def test_a_merged_result_says_how_all_its_parts_were_made() -> None:
    games: Any = {"problem": two_arms(horizon=30), "reference": "greedy"}
    shards = [rotting.simulate(UCB1, runs=2, first_run=first, **games) for first in (0, 2)]
    whole = Result.merge(*shards, rotting.simulate(RAW, runs=4, **games))
    made: Any = whole.provenance
    assert made["code"] == {repr(each): code_digest(each) for each in (UCB1, RAW, rotting.GreedyOracle())}
    assert [each["runs"] for each in made["call"]] == [2, 2, 4]
    assert made["NumPy"] == np.__version__
    assert rerun(whole) == whole


def test_kept_games_say_when_they_were_played(tmp_path: Path) -> None:
    games: Any = {"policies": UCB1, "problem": two_arms(horizon=30), "runs": 2, "keep": tmp_path}
    first = rotting.simulate(**games)
    store = ChunkStore(tmp_path)
    for path in [each for each in tmp_path.rglob("*") if each.is_file()]:
        chunk = store.read(path.stem)
        assert chunk is not None
        store.write(path.stem, chunk._replace(origin=Origin("another one", 86_400.0)))
    made: Any = rotting.simulate(**games).provenance
    assert first.provenance is not None
    assert made == {**first.provenance, "date": "1970-01-02T00:00:00+00:00", "machine": "another one"}


def test_the_commit_is_that_of_the_repository_which_git_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = provenance.commit.__wrapped__
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert look() is None

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()

    git("init")
    assert look() is None
    Path("script.py").write_text("one")
    git("add", ".")
    git("-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-m", "one")
    assert look() == git("rev-parse", "HEAD")
    Path("results").write_text("new files do not count")
    assert look() == git("rev-parse", "HEAD")
    Path("script.py").write_text("two")
    assert look() == f"{git('rev-parse', 'HEAD')}-dirty"
    monkeypatch.setattr(provenance, "_GIT", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.01)
    assert look() is None


def test_the_digest_of_a_policy_is_that_of_its_code() -> None:
    class Own(Policy):
        name = "own-copy"
        kernel = UCB1.kernel

    assert code_digest(Own()) == code_digest(UCB1)

    def choose(p: Any, s: Any, t: int, key: int, arms: Any) -> int:
        return 0

    class Other(Policy):
        name = "own-other"
        kernel = Kernel(UCB1.kernel.init, choose, UCB1.kernel.update)

    assert code_digest(Other()) != code_digest(UCB1)


@pytest.mark.parametrize("more", [{}, {"first_run": 3}, {"record": "rewards"}, {"reference": "best arm"}, {"reference": RAW}])
def test_a_saved_result_is_played_again_bit_for_bit(more: dict[str, Any], tmp_path: Path) -> None:
    problem = two_arms(1.0, horizon=40).delayed(rotting.problems.FixedDelay(2))
    policies: list[Any] = [UCB1, rotting.tuned(rotting.GLRUCB)]
    result = rotting.simulate(policies, problem, runs=4, checkpoints=[7, 20], **more)
    assert rerun(result) == result
    result.save(tmp_path / "result")
    again = rerun(Result.load(tmp_path / "result"))
    assert changes(result, again) == []
    assert again == result


def test_what_differs_is_named(tmp_path: Path) -> None:
    result = rotting.simulate([UCB1, RAW], two_arms(horizon=30), runs=3)
    result.save(tmp_path / "result")
    file = tmp_path / "result" / "result.json"
    told = run_command("rerun", str(file))
    assert told.returncode == 0
    assert "two-arms(L=0.3): all 3 runs are the same, bit for bit" in told.stdout
    other = rotting.simulate([UCB1, RAW], two_arms(horizon=30), runs=3, seed=1)
    assert other.provenance is not None
    other.provenance["NumPy"] = "0.1"
    lines = changes(other, result)
    assert lines[0] == "UCB1: 3 of 3 runs differ."
    assert f"NumPy: 0.1 then, {np.__version__} now." in lines
    assert not any(line.startswith(("date", "call", "code")) for line in lines)


def test_a_plain_class_with_settings_is_found_in_a_list_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("""
import functools
import rotting

class Fixed:
    def __init__(self, n_arms, arm=0):
        self.arm = arm

    def pull(self):
        return self.arm

    def update(self, arm, reward):
        pass

policies = [Fixed, functools.partial(Fixed, arm=1)]
if __name__ == "__main__":
    rotting.simulate(policies, rotting.problems.two_arms(horizon=30), runs=2).save("result")
""")
    runpy.run_path("mine.py", run_name="__main__")
    result = Result.load("result")
    assert rerun(result, "mine.py") == result


def test_what_cannot_be_rebuilt_is_named(tmp_path: Path) -> None:
    recovering = rotting.Problem([Rested(0.5), Recovering(np.linspace(0.9, 0.1, 50))], horizon=30, name="resting")
    rotting.simulate(UCB1, recovering, runs=2).save(tmp_path / "result")
    with pytest.raises(ValueError, match=r"^source must define the problem resting to play it again, got none$"):
        rerun(Result.load(tmp_path / "result"))
    with pytest.raises(FileNotFoundError, match=r"^source must be a Python file, but 'none.py' does not exist$"):
        rerun(Result.load(tmp_path / "result"), source="none.py")


def test_a_study_for_a_paper_comes_from_one_script_and_is_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six policies, one of them a plain class and one tuned, on four problems with three horizons each, one with a memory."""
    assert len(SCRIPT.strip().splitlines()) <= 40
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    table = Path("table.tex").read_text()
    assert table.count(r"\textbf{") == 12
    assert table.count(" & ") == 5 * 6 * 4 - 6 * 4 + 4  # four cells of T and labels in 24 rows, and the head
    assert "Plain Python" in table
    assert Path("figure.pdf").read_bytes().startswith(b"%PDF")
    told = run_command("rerun", "study", "--source", "study.py")
    assert (told.returncode, told.stdout.count("all 6 runs are the same, bit for bit")) == (0, 12)
    told = run_command("rerun", "study")
    assert told.returncode == 2
    assert "source must define" in told.stderr
    assert "got no such class" in told.stderr
    script.write_text(SCRIPT.replace("< 0.1", "< 0.2"))
    told = run_command("rerun", "study", "--source", "study.py")
    assert told.returncode == 2
    assert "got a class with another source or other settings" in told.stderr
