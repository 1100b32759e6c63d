"""Long streams of rewards of every kind, and the rounds at which they are looked at."""

import numpy as np


def streams(length: int) -> dict[str, np.ndarray]:
    """Rewards that put the best window at the start, at a break, at the end, and everywhere at once."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=length)
    time = np.arange(length)
    return {
        "stationary": noise,
        "break": noise - 2.0 * (time > 0.8 * length),
        "breaks": noise - 0.5 * (7 * time // length),
        "slope": noise - 4.0 * time / length,
        "rising": noise + 4.0 * time / length,
        "constant": np.full(length, 0.1),
        "coins": rng.integers(0, 2, length).astype(float),
        "waves": np.sin(time / 50),
        "offset": 1e6 + noise,
        "large offset": -1e12 + noise,
        "wild": noise * np.exp(3 * np.sin(time / 300)),
    }


def rounds_to_check(length: int) -> set[int]:
    return {*range(1, 40), *np.linspace(40, length, 60).astype(int).tolist()}
