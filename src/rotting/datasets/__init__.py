"""Problems from real data of things that wear out, and synthetic nights that resemble data which few people have.

The files are expected in the folder named by the environment variable `ROTTING_DATA`, by default the user's data
folder. A file that is missing raises `MissingDataError`, which says where to get it.
"""

from rotting.common.module_names import suggest_names as _suggest_names
from rotting.datasets.batteries import batteries
from rotting.datasets.files import data_folder
from rotting.datasets.news import news
from rotting.datasets.nights import VARIANCE, VARIATION, Night, Nights, Reading
from rotting.datasets.synthetic_nights import synthetic_nights
from rotting.datasets.yahoo import yahoo_nights
from rotting.errors import DataWarning, MissingDataError

__all__ = [
    "VARIANCE",
    "VARIATION",
    "DataWarning",
    "MissingDataError",
    "Night",
    "Nights",
    "Reading",
    "batteries",
    "data_folder",
    "news",
    "synthetic_nights",
    "yahoo_nights",
]

_suggest_names(__name__, __all__)
