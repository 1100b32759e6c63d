"""Draw docs/start.svg, the picture of the README and of the site's first page: `python -m docs.make_start`."""

from pathlib import Path

import matplotlib as mpl

import rotting

PICTURE = Path(__file__).parent / "start.svg"


def main() -> None:
    """Play, and draw."""
    policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.FEWA(alpha=0.06), rotting.UCB1()]
    result = rotting.simulate(policies, rotting.problems.two_arms(L=1.0, horizon=2_000), runs=200, seed=0)
    PICTURE.unlink(missing_ok=True)
    with mpl.rc_context({"svg.hashsalt": "rotting", "svg.fonttype": "none"}):
        result.plot(path=PICTURE, title="Regret in the two-arm game: the good arm drops after 500 pulls")


if __name__ == "__main__":
    main()
