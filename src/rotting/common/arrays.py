"""The two array types that states, tables and results are made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
AnyArray = NDArray[Any]
"""An array of either type, or of another one that a user chose."""
