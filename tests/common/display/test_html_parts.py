"""HTML for notebooks: whole, escaped, without scripts, and nothing from elsewhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rotting
from rotting.common.display.figures import Curve, Panel
from rotting.common.display.html_parts import MAX_CURVES, block, drawing, table
from rotting.problems import Abrupt, Problem, ProblemFamily, Rested, Restless
from rotting.problems.problem import means_picture

HORIZON = 40
EVIL = "<script>alert('x')</script> & \"quoted\""


def game() -> Problem:
    return Problem([Rested(Abrupt(0.9, 0.1, at=10)), Restless(0.5)], rotting.Gaussian(0.2), HORIZON, name=EVIL)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """What a notebook shows. A fixture, since every worker that collects tests would play these games."""
    policies = [rotting.RAWUCB(), rotting.Uniform()]
    bandit = rotting.Bandit(rotting.UCB1(), arms=[EVIL, "b"])
    bandit.update("b", 0.5)
    return {
        "result": rotting.simulate(policies, game(), runs=3),
        "one run": rotting.simulate(policies[0], game(), runs=1),
        "trajectory": rotting.play(policies[0], game()),
        "no reasons": rotting.play(policies[1], game()),
        "explanation": bandit.explain(),
        "problem": game(),
        "no horizon": Problem.rested([0.5, Abrupt(0.9, 0.1, at=10)]),
        "many arms": Problem.restless([i / 20 for i in range(20)], horizon=1),
        "family": ProblemFamily(lambda rng: replace(game(), horizon=int(rng.integers(20, 60))), name=EVIL),
        "tables": rotting.problems.RandomBreakpoints(n_arms=9, horizon=50),
        "policy": rotting.MUCB(),
        "no parameters": rotting.GreedyOracle(),
        "table": rotting.simulate(policies, game(), runs=3).table(),
    }


class Reader(HTMLParser):
    """Checks that tags close in order, and keeps tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_it_is_whole_escaped_and_alone(shown: dict[str, Any]) -> None:
    for name, each in shown.items():
        text = each._repr_html_()
        reader = Reader(text)
        assert not {"script", "style", "link", "iframe", "img", "object"} & {*reader.tags}, name
        assert not [key for key, _ in reader.attributes if key.startswith("on") or key in {"href", "src"}], name
        assert "http" not in text, name
        assert "url(" not in text, name
        assert "nan" not in re.findall(r'd="([^"]*)"', text), name
        colours = {value for key, value in reader.attributes if key in {"fill", "stroke"}}
        assert not {"#000000", "black", "white"} & colours, name  # they would vanish on a dark page, or on a light one
        assert "background" not in text, name


@pytest.mark.parametrize("name", ["result", "trajectory", "problem", "family", "explanation"])
def test_names_are_shown_as_they_are(shown: dict[str, Any], name: str) -> None:
    assert EVIL in Reader(shown[name]._repr_html_()).words.replace("\\'", "'")


@pytest.mark.parametrize(
    ("name", "drawings"),
    [
        *(("result", 1), ("trajectory", 3), ("no reasons", 2)),
        *(("problem", 1), ("family", 3), ("tables", 3), ("policy", 0)),
    ],
)
def test_drawings(shown: dict[str, Any], name: str, drawings: int) -> None:
    assert shown[name]._repr_html_().count('role="img"') == drawings


def test_a_problem_says_what_it_is(shown: dict[str, Any]) -> None:
    words = Reader(shown["many arms"]._repr_html_()).words
    assert "stationary, 20 arms, horizon 1, Gaussian(sigma=1.0); the mean of the first 8 arms" in words
    assert "no horizon" in Reader(shown["no horizon"]._repr_html_()).words


def test_a_family_shows_the_problems_of_its_first_runs(shown: dict[str, Any]) -> None:
    family = shown["tables"]
    text = family._repr_html_()
    assert [text.count(means_picture(family.problem(run))) for run in range(4)] == [1, 1, 1, 0]
    words = Reader(text).words
    assert repr(family) in words
    assert "the mean of the first 8 arms, if pulled in every round" in words


def test_the_drawing_of_a_problem_leaves_its_table_alone() -> None:
    """A simulation that is running reads it."""
    problem = game()
    before = problem.means()
    problem._repr_html_()
    assert problem.means() is before


def panel(*curves: Curve) -> Panel:
    return Panel("", "x", "y", curves)


def test_many_curves_are_counted() -> None:
    curves = [Curve(f"c{k}", np.arange(10_000), np.arange(10_000.0)) for k in range(MAX_CURVES + 3)]
    picture = drawing(panel(*curves))
    assert len(picture) < 40_000
    assert "and 3 more" in picture
    assert picture.count('class="line"') == MAX_CURVES
    assert drawing(panel(*curves[: MAX_CURVES + 1])).count('class="line"') == MAX_CURVES + 1  # the last is not left out alone


def test_nothing_is_drawn_of_what_is_unknown() -> None:
    assert drawing(panel(Curve("a", np.arange(2), np.full(2, np.nan)))) == ""


def test_text_is_escaped() -> None:
    assert "<b>" not in block("<b>", note="<b>")
    assert "<b>" not in table(["<b>"], [["<b>"]])
