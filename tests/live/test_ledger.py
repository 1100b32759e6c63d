"""The parts of a ledger: the last answers."""

from collections import OrderedDict

import pytest

from rotting.live.ledger import ClosedDecisions


@pytest.mark.parametrize("most", [1, 2, 255, 256, 257, 600])
def test_the_last_answers_are_kept_and_no_others(most: int) -> None:
    answers, model = ClosedDecisions(most), OrderedDict[str, float | None]()
    for k in range(1_500):
        key, answer = f"{k:x}", None if k % 7 == 0 else k / 2
        answers.add(key, answer)
        model[key] = answer
        if len(model) > most:
            model.popitem(last=False)
        assert len(answers) == len(model)
        for near in (k, k - most + 1, k - most, k - most - 255, k - most - 256):
            found = answers.find(f"{near:x}") if near >= 0 else None
            assert found == ((model[f"{near:x}"],) if near >= 0 and f"{near:x}" in model else None)
        if k % 100 == 0:
            assert list(answers) == list(model.items())
            assert list(ClosedDecisions(most, answers)) == list(answers)


def test_a_copy_of_answers_is_independent() -> None:
    answers = ClosedDecisions(300, ((str(k), 1.0) for k in range(400)))
    twin, before = answers.copy(), list(answers)
    answers.add("one", 0.5)
    twin.add("other", None)
    assert list(twin) == [*before[1:], ("other", None)]
    assert list(answers) == [*before[1:], ("one", 0.5)]
    assert twin.find("one") is answers.find("other") is None
