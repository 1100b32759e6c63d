"""Draw the picture of the README and of the first page, and a small one for pages without: `python -m studies.start`."""

from pathlib import Path

import matplotlib as mpl
from PIL import Image

import rotting

PICTURE = Path(__file__).parent.parent / "docs" / "start.svg"
THUMB = Path(__file__).parent.parent / "docs" / "_static" / "thumb.png"


def main() -> None:
    """Play, and draw."""
    policies = [rotting.RAWUCB(alpha=1.4), rotting.EffRAWUCB(alpha=1.4), rotting.FEWA(alpha=0.06), rotting.UCB1()]
    result = rotting.simulate(policies, rotting.problems.two_arms(L=1.0, horizon=2_000), runs=200, seed=0)
    PICTURE.unlink(missing_ok=True)
    with mpl.rc_context({"svg.hashsalt": "rotting", "svg.fonttype": "none"}):
        result.plot(path=PICTURE, title="Regret in the two-arm game: the good arm drops after 500 pulls")
    THUMB.unlink(missing_ok=True)
    result.plot(path=THUMB, legend=False, title="")
    Image.open(THUMB).convert("RGB").reduce(3).save(THUMB)


if __name__ == "__main__":
    main()
