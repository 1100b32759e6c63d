"""Charts of the page: every curve once, rounded, and told apart."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.svg import SYMBOLS, panel_text
from rotting.paper.report.charts import chart_data, rounded
from tests.helpers.sections import LABELS, figure


def test_a_panel_in_words_says_where_each_curve_ends() -> None:
    words = panel_text(figure().panels[0])
    assert words.startswith(
        "Every L: regret at the horizon against drop L. At the right end: RAW-UCB 1.4 2 [1.5, 2.5]; FEWA 4 4 [3, 5];"
    )


@given(st.lists(st.floats()))
def test_rounded_numbers_are_near_and_json(values: list[float]) -> None:
    written = rounded(values)
    json.dumps(written, allow_nan=False)
    for value, back in zip(values, written, strict=True):
        if math.isfinite(value):
            assert back == pytest.approx(value, rel=5e-6)
        else:
            assert back is None


def test_chart_data_has_every_curve_once_and_shares_x() -> None:
    data = chart_data(figure())
    assert [label["text"] for label in data["labels"]] == list(LABELS)
    assert len(data["xs"]) == 2
    assert [len(panel["curves"]) for panel in data["panels"]] == [3, 5, 5]
    assert all(curve["points"] for curve in data["panels"][0]["curves"])
    assert data["panels"][1]["y_max"] == 100.0
    looks = [(label["colour"], label["dash"], label["symbol"]) for label in data["labels"]]
    assert len(set(looks)) == len(looks)


def test_forty_labels_look_different_in_the_page() -> None:
    curves = tuple(Curve(f"policy {k}", np.zeros(1), np.zeros(1)) for k in range(40))
    labels = chart_data(Figure("many", "", "", (Panel("", "", "", curves),)))["labels"]
    assert len({(label["colour"], label["dash"]) for label in labels}) == 40
    assert {label["symbol"] for label in labels} == {symbol for symbol, _ in SYMBOLS.values()}
