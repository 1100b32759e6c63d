"""What tells curves apart wherever they are drawn: colours and line styles."""

from typing import Any

# Okabe and Ito's colours, distinct under every common colour blindness; grey for their yellow, which is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#8C8C8C")
# Five styles against eight colours: 40 curves before a pair repeats, and neighbours differ in both. As Matplotlib writes them.
STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2, 3, 2)))
