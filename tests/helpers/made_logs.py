"""Logs whose truth is known."""

import numpy as np

from rotting.logs.log import Log

UNITS = 12


def made_log(truth: str, seed: int, rows: int = 12_000, missing: float = 0.0) -> Log:
    """Return a log of counts with units of unequal traffic, whose three arms wear out along the clocks in `truth`.

    Arm 2 is steady along time, so that the others fall behind it.
    """
    rng = np.random.default_rng(seed)
    traffic = 1.5 ** -np.arange(UNITS)
    unit = rng.choice(UNITS, rows, p=traffic / traffic.sum())
    arm = rng.integers(0, 3, rows)
    log = Log({"arm": arm, "reward": np.zeros(rows), "unit": unit}, unit="unit")
    wear = np.zeros(rows)
    if "pulls" in truth:
        wear = wear + np.minimum(log.own_pulls / 400, 1.0)
    if "time" in truth:
        wear = wear + np.where(arm == 2, 0.0, np.arange(rows) / rows)
    level = (1 + np.arange(UNITS) % 3)[unit] * (2.0 + arm)
    reward = rng.poisson(level * np.exp(-wear)).astype(float)
    reward[rng.random(rows) < missing] = np.nan
    return Log({"arm": arm, "reward": reward, "unit": unit}, unit="unit")
