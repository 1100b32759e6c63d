"""Problems from real data of things that wear out, and synthetic nights that resemble data which few people have.

The files are expected in the folder named by the environment variable `ROTTING_DATA`, by default the user's data
folder. A file that is missing raises `MissingDataError`, which says where to get it.
"""

from rotting.errors import DataWarning, MissingDataError
from rotting.paper.datasets.batteries import batteries
from rotting.paper.datasets.files import data_folder
from rotting.paper.datasets.news import news
from rotting.paper.datasets.nights import VARIANCE, VARIATION, Night, Nights, Reading, synthetic_nights
from rotting.paper.datasets.yahoo import yahoo_nights

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
