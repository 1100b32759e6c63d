"""What the commands print: strict JSON on one side, messages on the other."""

import json
import math

import pytest

from rotting.cli.output import json_text, say


def test_json_is_strict() -> None:
    assert json.loads(json_text({"x": [1, 2.5, None]})) == {"x": [1, 2.5, None]}
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON"):
            json_text({"x": bad})


def test_messages_leave_the_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    say("something")
    assert capsys.readouterr() == ("", "something\n")
