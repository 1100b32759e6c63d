"""The games that the page to scrub through shows: played and recorded by the library, one file of data for the browser."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import rotting

NIGHT, ARTICLES, THINNED = 7, 5, 400  # which night, how many of its articles, and one of how many visitors
FULL, SHORT = 400, 40  # rounds of the two-arm game
RULES = {
    "raw-ucb": "It pulls the arm with the largest index: the smallest of all windows' upper bounds.",
    "eff-raw-ucb": "It pulls the arm with the largest index: the smallest bound of a few windows, of lengths 1, 2, 4, ...",
    "ucb1": "It pulls the arm with the largest index. Its window is always all rewards of the arm.",
    "fewa": "It compares arms over windows of growing length, and drops those that are clearly behind. The window is how far "
    "an arm came. Of the arms that are left it pulls one that has no longer window to be compared by.",
}


def policies(sigma: float) -> list[rotting.Policy]:
    """Return who plays."""
    return [
        rotting.RAWUCB(sigma=sigma),
        rotting.FEWA(alpha=0.06, sigma=sigma),
        rotting.UCB1(sigma=sigma),
        rotting.EffRAWUCB(sigma=sigma),
    ]


def night() -> rotting.Problem:
    """Return a short night of news: the best articles of a synthetic one, for one visitor in many."""
    whole = rotting.datasets.synthetic_nights()[NIGHT]
    best = np.sort(np.argsort(-whole.probabilities.mean(axis=1))[:ARTICLES])
    return replace(
        whole,
        articles=tuple(whole.articles[int(k)] for k in best),
        probabilities=whole.probabilities[best],
        traffic=whole.traffic // THINNED,
    ).problem()


def _round(values: npt.ArrayLike, digits: int = 3) -> list[float | None]:
    """Return numbers for JSON, which has neither infinities nor NaN."""
    return [None if not np.isfinite(each) else round(float(each), digits) for each in np.asarray(values, float)]


def record(policy: rotting.Policy, problem: rotting.Problem, horizon: int | None) -> dict[str, object]:
    """Play one run and return, for every round and arm, what `rotting.play` and `rotting.theory.hull` say."""
    game = rotting.play(policy, problem, run=1, horizon=horizon)
    assert game.index is not None
    assert game.window is not None
    assert game.width is not None
    K = problem.n_arms
    rewards = [game.reward[game.arm == i] for i in range(K)]
    seen = np.vstack([np.zeros(K, int), np.cumsum(game.arm[:, None] == np.arange(K), axis=0)[:-1]])  # pulls before each round
    means = [
        [rewards[i][n - h : n].mean() if h > 0 else np.nan for n, h in zip(seen[:, i], game.window[:, i], strict=True)]
        for i in range(K)
    ]
    return {
        "policy": policy.label,
        "rule": RULES[policy.name],
        "arm": game.arm.tolist(),
        "regret": _round(game.regret, 2),
        "truth": [_round(game.means[:, i]) for i in range(K)],
        "index": [_round(game.index[:, i]) for i in range(K)],
        "mean": [_round(each) for each in means],
        "window": game.window.T.tolist(),
        "width": [_round(game.width[:, i]) for i in range(K)],
        "reward": [_round(each) for each in rewards],
        "hull": [[rotting.theory.hull(each[:n]).tolist() for n in range(1, each.size + 1)] for each in rewards],
    }


def games(quick: bool = False) -> list[dict[str, object]]:
    """Return all recordings."""
    rounds = SHORT if quick else FULL
    two, news = rotting.problems.two_arms(L=2.0, horizon=FULL, sigma=0.5), night()
    played = [
        ("Two arms: the second drops after 100 pulls", two, 0.5, rounds),
        (f"A night of news, {ARTICLES} articles", news, rotting.datasets.VARIANCE**0.5, rounds if quick else None),
    ]
    return [
        {"problem": title, "runs": [record(each, problem, T) for each in policies(sigma)]}
        for title, problem, sigma, T in played
    ]


def write(path: Path, quick: bool = False) -> None:
    """Write a script that holds them: a page that is opened from disk may not read other files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(games(quick), separators=(",", ":"), allow_nan=False)
    path.write_text(f"window.RECORDINGS={text};\n", "utf-8")
