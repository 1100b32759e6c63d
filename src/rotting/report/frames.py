"""Tables as CSV and Parquet. Polars is an extra, and is imported only when something is written."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.common.statistics import Interval
from rotting.errors import InvalidTypeError, InvalidValueError, MissingExtraError
from rotting.report.claims import Claim

if TYPE_CHECKING:
    import polars as pl


def flat(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row of numbers, strings and None; an interval `x` becomes `x`, `x_low` and `x_high`.

    Example:
        >>> flat({"policy": "UCB1", "regret": Interval(2.0, 1.5, 2.5)})
        {'policy': 'UCB1', 'regret': 2.0, 'regret_low': 1.5, 'regret_high': 2.5}
    """
    cells: dict[str, object] = {}
    for name, value in row.items():
        parts = {name: value}
        if isinstance(value, Interval):
            parts = {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        for key, part in parts.items():
            if key in cells:
                raise InvalidValueError("rows", "have one value per column", key, got=f"two called {key!r}")
            cells[key] = part.item() if isinstance(part, np.generic) else part
    return cells


def frame(rows: Sequence[Mapping[str, object]]) -> "pl.DataFrame":
    """Return rows as a data frame, with the columns of all of them in the order in which they appear.

    Args:
        rows: dicts of numbers, strings, intervals and None; a column that a row lacks is null there.

    Example:
        >>> frame([{"L": 1, "regret": 2.5}, {"L": 2}]).rows()
        [(1, 2.5), (2, None)]
    """
    try:
        import polars as pl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the report needs Polars: pip install 'rotting[report]'") from error
    cells = [flat(row) for row in rows]
    names = dict.fromkeys(name for row in cells for name in row)
    columns = {name: [row.get(name) for row in cells] for name in names}
    return pl.DataFrame({name: pl.Series(name, *_typed(name, values)) for name, values in columns.items()})


def _typed(name: str, values: list[object]) -> "tuple[list[object], type[pl.DataType]]":
    """Return values of one type, and the Polars type; whole numbers among floats become floats."""
    import polars as pl  # noqa: PLC0415 - an extra

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [float(value) if isinstance(value, int) else value for value in values], pl.Float64
    types: dict[frozenset[type], type[pl.DataType]] = {
        frozenset(): pl.Null,
        frozenset([bool]): pl.Boolean,
        frozenset([int]): pl.Int64,
        frozenset([float]): pl.Float64,
        frozenset([str]): pl.String,
    }
    if frozenset(kinds) not in types:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidTypeError(f"column {name!r}", "hold numbers, strings or booleans only", values, got=names)
    return values, types[frozenset(kinds)]


def csv_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Return rows as CSV; every float with enough digits to read it back.

    Example:
        >>> csv_bytes([{"L": 0.1, "regret": None}]).splitlines()
        [b'L,regret', b'0.1,']
    """
    return frame(rows).write_csv().encode()


def parquet_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Return rows as Parquet."""
    content = io.BytesIO()
    frame(rows).write_parquet(content)
    return content.getvalue()


def claim_row(section: str, claim: Claim, stands: bool | None = None) -> dict[str, object]:
    """Return a claim as a row; infinite thresholds are None.

    Args:
        section: id of its section.
        claim: the measured claim.
        stands: whether its verdict stands with Holm's correction, as `rotting.report.claims.stands` returns it.
    """
    same = {
        f"same_{end}_{side}": value if math.isfinite(value) else None
        for end in ("low", "high")
        for side, value in zip(("from", "to"), claim.leeway.get(end, (-math.inf, math.inf)), strict=True)
    }
    return {
        "section": section,
        "claim": claim.id,
        "words": claim.words,
        "source": claim.source,
        "quantity": claim.quantity,
        "measured": claim.estimate,
        "claimed_low": claim.low if math.isfinite(claim.low) else None,
        "claimed_high": claim.high if math.isfinite(claim.high) else None,
        "verdict": claim.verdict.value,
        **same,
        "stands_with_holm": stands,
        "reason": claim.reason,
        "remark": claim.remark,
        "synthetic": claim.synthetic,
    }
