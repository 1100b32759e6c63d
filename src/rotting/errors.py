"""Every exception and warning of the library, in one tree.

    RottingError                     caught alone, it catches all of them
    |-- InvalidValueError            a ValueError: a value breaks a rule; the message names parameter, rule and value
    |   `-- PathExistsError          a FileExistsError too: something is there already, and nothing is overwritten
    |-- InvalidTypeError             a TypeError: a value of a kind that cannot be meant
    |-- KernelError                  a TypeError: a function of a policy or a noise does what compiled code may not
    |   `-- KernelIndexError         an IndexError too: it reads or writes outside an array
    |-- CheckError                   an AssertionError: `check_policy` or `check_noise` found a broken rule
    |-- PathMissingError             a FileNotFoundError: what should be read is not there
    |   `-- MissingDataError         a data file that people fetch themselves; the message says where to get it
    |-- MissingExtraError            an ImportError: an optional dependency is not installed; the message says which
    `-- StoreError                   an OSError: something is wrong with the file in which events are kept
        |-- NotAStoreError           another program's file, or none that can be a store
        |-- StoreFormatError         written by a newer or an older version of the library
        |-- StoreDamagedError        not what was written: it is not used, and not repaired by guessing
        |-- StoreLockedError         a BlockingIOError: another writer has it
        |-- StoreReadOnlyError       a PermissionError: it cannot be written to, or was opened for reading
        |-- StoreFullError           the disk is full: nothing was written, and the same can be tried again
        `-- StoreFailedError         a write failed, or the store is closed: it must be opened again

    RottingWarning                   a UserWarning: the work goes on, but something should be known
    |-- DataWarning                  about a data file that was read
    |-- AxesWarning                  a table of means seems to have its axes exchanged
    `-- RewardsWarning               rewards of decisions seem to be missing

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
    "InvalidTypeError",
    "InvalidValueError",
    "KernelError",
    "KernelIndexError",
    "MissingDataError",
    "MissingExtraError",
    "NotAStoreError",
    "PathExistsError",
    "PathMissingError",
    "RewardsWarning",
    "RottingError",
    "RottingWarning",
    "StoreDamagedError",
    "StoreError",
    "StoreFailedError",
    "StoreFormatError",
    "StoreFullError",
    "StoreLockedError",
    "StoreReadOnlyError",
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


class CheckError(RottingError, AssertionError):
    """A policy or a noise broke its contract; the message says which rule, and where."""


class PathMissingError(RottingError, FileNotFoundError):
    """What should be read is not there."""


class MissingDataError(PathMissingError):
    """A data file is not there; the message says which, where it was looked for, and where to get it."""


class MissingExtraError(RottingError, ImportError):
    """An optional dependency is not installed; the message says which, and how to install it."""


class StoreError(RottingError, OSError):
    """Something is wrong with the file in which events are kept; the message names the file."""


class NotAStoreError(StoreError):
    """A file that is no store: another program's, an empty one, a folder."""


class StoreFormatError(StoreError):
    """A store of a format that this version of the library does not read; the message says which one it is."""


class StoreDamagedError(StoreError):
    """A store that does not hold what was written; the message says where."""


class StoreLockedError(StoreError, BlockingIOError):
    """A store that another writer has, or has taken over."""


class StoreReadOnlyError(StoreError, PermissionError):
    """A store that cannot be written to, or that was opened for reading."""


class StoreFullError(StoreError):
    """The disk is full: nothing was written, and the same can be tried again when there is room."""


class StoreFailedError(StoreError):
    """A store that cannot go on, since a write failed or since it is closed; it must be opened again."""


class RottingWarning(UserWarning):
    """The work goes on, but something should be known."""


class DataWarning(RottingWarning):
    """A data file was read, but something about it should be known."""


class AxesWarning(RottingWarning):
    """A table of means has far more arms than rounds: its axes seem to be exchanged."""


class RewardsWarning(RottingWarning):
    """Rewards of decisions seem to be missing, or come later than is waited for.

    Example:
        >>> import warnings
        >>> import rotting
        >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz", "rock"], max_pending=2)
        >>> with warnings.catch_warnings(record=True, action="always") as told:
        ...     decisions = [bandit.decide() for _ in range(3)]
        >>> print(told[0].category.__name__, told[0].message)
        RewardsWarning 2 decisions wait for a reward (max_pending): from now on the oldest expires with each new one
    """
