"""What the service judges: a bounded sample of decisions, in which an arm that is shown rarely is not forgotten."""

import numpy as np

from rotting.server.http.sample import Sample, Taken

NAMES = dict(enumerate("abcd"))


def filled(sample: Sample, arms: "np.ndarray[tuple[int], np.dtype[np.int64]]", rewards: object = None) -> Sample:
    """Add decisions, a second apart; their rewards are their rounds by default."""
    paid = np.arange(arms.size) if rewards is None else np.asarray(rewards)
    for t, (arm, reward) in enumerate(zip(arms.tolist(), paid.tolist(), strict=True)):
        if sample.add(t, arm, float(reward), float(t), None):
            sample.collect(NAMES)
    return sample


def rounds_of(taken: Taken, arm: int) -> list[int]:
    return [int(each) for each in taken.columns[0][taken.columns[1] == arm]]


def test_an_arm_that_is_shown_rarely_keeps_all_decisions_and_the_others_a_part_of_all_their_life() -> None:
    arms = np.random.default_rng(0).choice(4, 60_000, p=[0.6, 0.3, 0.0995, 0.0005])
    taken = filled(Sample(size=1_000), arms).taken(NAMES, NAMES)
    assert 700 < taken.columns[0].size <= 1_000
    assert rounds_of(taken, 3) == np.flatnonzero(arms == 3).tolist()
    assert not taken.is_whole
    for arm in range(3):
        kept = np.array(rounds_of(taken, arm))
        assert kept.size > 150
        early = int((kept < 30_000).sum())
        assert abs(early - kept.size / 2) < 5 * np.sqrt(kept.size) / 2  # an error once in a million samples


def test_a_sample_that_has_room_is_whole() -> None:
    taken = filled(Sample(), np.array([0, 1, 0, 3])).taken(NAMES, NAMES)
    assert taken.columns[0].tolist() == [0, 1, 2, 3]
    assert taken.is_whole
    assert not filled(Sample(is_whole=False), np.array([0])).taken(NAMES, NAMES).is_whole


def test_arms_that_are_gone_make_room_and_forgotten_ones_are_not_judged() -> None:
    sample = filled(Sample(size=100), np.arange(90) % 3)
    assert len(rounds_of(sample.taken(NAMES, {0, 1}), 2)) == 30  # there is room for all
    filled(sample, np.arange(60) % 2)
    assert rounds_of(sample.taken(NAMES, {0, 1}), 2) == []
    only = {0: "a"}
    assert set(sample.taken(only, only).columns[1].tolist()) == {0}
    assert Sample().taken(NAMES, NAMES).wearing_out() == {}


def test_an_arm_that_fell_and_that_the_policy_left_is_marked() -> None:
    rng = np.random.default_rng(5)
    arms = np.concatenate([rng.choice(4, 8_000), rng.choice(4, 52_000, p=[0.328, 0.328, 0.328, 0.016])])
    rates = np.where((arms == 3) & (np.arange(60_000) >= 8_000), 0.04, 0.08)
    found = filled(Sample(), arms, rng.random(60_000) < rates).taken(NAMES, NAMES)
    diagnosis = found.diagnosis()
    assert diagnosis is not None
    assert {each.name: each.verdict for each in diagnosis.arms}[3] == "too few"  # among all arms of all logs
    assert found.wearing_out() == {"d": "how long it lasts is not known: too little is seen of it since it fell"}
