"""The array types that states, tables and results are made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ArmNumbers = NDArray[np.unsignedinteger[Any]]
"""The arms of rounds, of the smallest type that holds the largest arm."""
AnyArray = NDArray[Any]
"""An array of any of these types, or of another one that a user chose."""
