"""Every exception and warning of the library, in one tree.

    RottingError                     caught alone, it catches all of them
    |-- InvalidArgumentError         a value breaks a rule; it has `field`, `rule` and `value`, and its message names them
    |   |-- InvalidValueError        a ValueError: the value is of the right type
    |   |   `-- PathExistsError      a FileExistsError too: something is there already, and nothing is overwritten
    |   `-- InvalidTypeError         a TypeError: the value is of the wrong type
    |-- KernelError                  a TypeError: a function of a policy or a noise does what compiled code may not
    |   `-- KernelIndexError         an IndexError too: it reads or writes outside an array
    |-- EngineError                  a RuntimeError: an engine cannot play here: no GPU, no scheduler, too little memory
    |-- CheckError                   an AssertionError: `check_policy` or `check_noise` found a broken rule
    |-- PathMissingError             a FileNotFoundError: what should be read is not there
    |   `-- MissingDataError         a data file that people fetch themselves; the message says where to get it
    |-- MissingExtraError            an ImportError: an optional dependency is not installed; the message says which
    |-- ServiceError                 an OSError: a service fails, is busy, answers something else than documented
    |   |-- ServiceDeniedError       a PermissionError: the token is missing, not known, or for something else
    |   `-- ServiceUnreachableError  a ConnectionError: no answer after all retries, or before the deadline
    `-- StoreError                   an OSError: something is wrong with the file in which events are kept
        |-- NotAStoreError           another program's file, or none that can be a store
        |-- StoreFormatError         written by a newer or an older version of the library
        |-- StoreDamagedError        not what was written: it is not used, and not repaired by guessing
        |-- StoreLockedError         a BlockingIOError: another writer has it
        |-- StoreReadOnlyError       a PermissionError: it cannot be written to, or was opened for reading
        |-- StoreFullError           the disk or the write-ahead log is full: nothing was written, and can be tried again
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

import pickle
from pathlib import PurePath
from typing import Any, Self

__all__ = [
    "AxesWarning",
    "CheckError",
    "DataWarning",
    "EngineError",
    "InvalidArgumentError",
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
    "ServiceDeniedError",
    "ServiceError",
    "ServiceUnreachableError",
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


def brief(value: object) -> str:
    """Return the value for an error message, cut if it is long; a path is shown whole.

    Example:
        >>> brief(list(range(1000)))
        '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1... (4890 characters)'
    """
    if isinstance(value, PurePath):
        return f"'{value}'"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be shown must not hide the error about it
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


class InvalidArgumentError(RottingError):
    """A value breaks a rule; the message is made from the field, the rule and the value.

    Args:
        field: the name of the parameter, field or file that the rule is about.
        rule: what must hold, beginning with a verb: `be a positive finite number`.
        value: the value that breaks the rule. If it cannot be pickled, a pickled error has its text instead.
        got: how the message shows the value; default: its `repr`, cut if it is long.
        hint: what follows the value in the message, with its punctuation: `; did you mean 'fewa'?`.
        where: the place of the value, with which the message begins, such as `row 3`.

    Example:
        >>> error = InvalidValueError("alpha", "be a positive finite number", -1)
        >>> print(error)
        alpha must be a positive finite number, got -1
        >>> error.field, error.rule, error.value
        ('alpha', 'be a positive finite number', -1)
        >>> print(error.replace(field="params.alpha", where="bandit 'songs'"))
        bandit 'songs': params.alpha must be a positive finite number, got -1
    """

    def __init__(self, field: str, rule: str, value: object, got: str | None = None, hint: str = "", where: str = "") -> None:
        self.field = field
        self.rule = rule
        self.value = value
        self.got = brief(value) if got is None else got
        self.hint = hint
        self.where = where
        place = f"{where}: " if where else ""
        super().__init__(f"{place}{field} must {rule}, got {self.got}{hint}")

    def replace(self, field: str | None = None, hint: str | None = None, where: str | None = None) -> Self:
        """Return the same error with another field, such as its name in HTTP, or another hint or place."""
        return type(self)(
            self.field if field is None else field,
            self.rule,
            self.value,
            self.got,
            self.hint if hint is None else hint,
            self.where if where is None else where,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.value)
            value = self.value
        except Exception:  # noqa: BLE001 - a foreign value may raise anything
            value = self.got
        state = {**self.__dict__, "value": value}
        return type(self), (self.field, self.rule, value, self.got, self.hint, self.where), state


class InvalidValueError(InvalidArgumentError, ValueError):
    """A value breaks a rule."""


class PathExistsError(InvalidValueError, FileExistsError):
    """Something is there already, and nothing is overwritten."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """A value is of a wrong type."""


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


class ServiceError(RottingError, OSError):
    """A service is too busy, fails, or answers something else than documented; or the client is closed."""


class ServiceDeniedError(ServiceError, PermissionError):
    """A service refuses the token, or asks for one."""


class ServiceUnreachableError(ServiceError, ConnectionError):
    """A service gave no answer after all retries, or before the deadline; the message says what was heard last."""


class StoreError(RottingError, OSError):
    """Something is wrong with the file in which events are kept.

    Args:
        reason: what is wrong, as the rest of a sentence that begins with the file; it does not name the file.
        path: the file. The message is `path` and then `reason`.

    Example:
        >>> error = StoreFailedError("is closed: open it again", "/data/songs.rot")
        >>> print(error)
        /data/songs.rot is closed: open it again
        >>> error.reason  # for clients of a service, who should not learn where its files are
        'is closed: open it again'
    """

    def __init__(self, reason: str = "", path: object = None) -> None:
        super().__init__(reason if path is None else f"{path} {reason}")
        self.reason = reason


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
    """There is no room: nothing was written, and the same can be tried again.

    The disk is full, or a reader keeps the write-ahead log from being reset, which has grown to its limit.
    """


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
        RewardsWarning max_pending reached: 2 decisions have no reward yet; each new decision now expires the oldest one
    """
