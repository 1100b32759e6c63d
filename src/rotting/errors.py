"""Every exception and warning of the library, in one tree.

    RottingError                     caught alone, it catches all of them
    |-- InvalidValueError            a ValueError: a value breaks a rule; the message names parameter, rule and value
    |   `-- PathExistsError          a FileExistsError too: something is there already, and nothing is overwritten
    |-- InvalidTypeError             a TypeError: a value of a kind that cannot be meant
    |-- KernelError                  a TypeError: a function of a policy or a noise does what compiled code may not
    |   `-- KernelIndexError         an IndexError too: it reads or writes outside an array
    |-- EngineError                  a RuntimeError: an engine cannot play here: no GPU, no scheduler, too little memory
    |-- CheckError                   an AssertionError: `check_policy` or `check_noise` found a broken rule
    |-- PathMissingError             a FileNotFoundError: what should be read is not there
    |   `-- MissingDataError         a data file that people fetch themselves; the message says where to get it
    `-- MissingExtraError            an ImportError: an optional dependency is not installed; the message says which

    RottingWarning                   a UserWarning: the work goes on, but something should be known
    |-- DataWarning                  about a data file that was read
    `-- AxesWarning                  a table of means seems to have its axes exchanged

Each is also the exception of Python's own that one would expect, so `except ValueError` works as it always did.

>>> import rotting
>>> try:
...     rotting.RAWUCB(alpha=-1)
... except rotting.errors.RottingError as error:
...     print(error)
alpha must be a positive finite number, got -1
"""

__all__ = [
    "AxesWarning",
    "CheckError",
    "DataWarning",
    "EngineError",
    "InvalidTypeError",
    "InvalidValueError",
    "KernelError",
    "KernelIndexError",
    "MissingDataError",
    "MissingExtraError",
    "PathExistsError",
    "PathMissingError",
    "RottingError",
    "RottingWarning",
]


class RottingError(Exception):
    """The base of all exceptions of the library."""


class InvalidValueError(RottingError, ValueError):
    """A value breaks a rule; the message names the parameter, the rule and the value."""


class PathExistsError(InvalidValueError, FileExistsError):
    """Something is there already, and nothing is overwritten."""


class InvalidTypeError(RottingError, TypeError):
    """A value is of a kind that cannot be meant; the message names the parameter, the rule and the value."""


class KernelError(RottingError, TypeError):
    """A function of a policy or of a noise does what compiled code may not; the message says where, and what."""


class KernelIndexError(KernelError, IndexError):
    """A function of a policy or of a noise reads or writes outside an array; the message says where."""


class EngineError(RottingError, RuntimeError):
    """An engine cannot play here; the message says what it lacks, and what to do."""


class CheckError(RottingError, AssertionError):
    """A policy or a noise broke its contract; the message says which rule, and where."""


class PathMissingError(RottingError, FileNotFoundError):
    """What should be read is not there."""


class MissingDataError(PathMissingError):
    """A data file is not there; the message says which, where it was looked for, and where to get it."""


class MissingExtraError(RottingError, ImportError):
    """An optional dependency is not installed; the message says which, and how to install it."""


class RottingWarning(UserWarning):
    """The work goes on, but something should be known."""


class DataWarning(RottingWarning):
    """A data file was read, but something about it should be known."""


class AxesWarning(RottingWarning):
    """A table of means has far more arms than rounds: its axes seem to be exchanged."""
