"""Every exception and warning of the library, in one tree.

    RottingError                     the base class of all exceptions
    |-- InvalidArgumentError         a value breaks a rule; it has `field`, `rule` and `value`, and its message names them
    |   |-- InvalidValueError        a ValueError: the value is of the right type
    |   |   `-- PathExistsError      also a FileExistsError: the path exists, and nothing is overwritten
    |   `-- InvalidTypeError         a TypeError: the value is of the wrong type
    |-- KernelError                  a TypeError: a function of a policy or a noise does what compiled code cannot do
    |   `-- KernelIndexError         also an IndexError: it reads or writes outside an array
    |-- EngineError                  a RuntimeError: an engine cannot play here: no GPU, no scheduler, too little memory
    |-- CheckError                   an AssertionError: `check_policy` or `check_noise` found a broken rule
    |-- PathMissingError             a FileNotFoundError: there is no such file or folder
    |   `-- MissingDataError         a data file that users download themselves; the message says where to get it
    |-- MissingExtraError            an ImportError: an optional dependency is not installed; the message says which
    |-- ServiceError                 an OSError: a service failed, is busy, or sent a response that is not as documented
    |   |-- ServiceDeniedError       a PermissionError: the token is missing, unknown, or lacks the scope
    |   `-- ServiceUnreachableError  a ConnectionError: no response after all retries, or before the deadline
    `-- StoreError                   an OSError: something is wrong with the store of events
        |-- NotAStoreError           it is not a store: neither a file of one, nor a database with its tables
        |-- StoreFormatError         the store was written by a newer or an older version of the library
        |-- StoreDamagedError        the store does not hold what was written; it is neither used nor repaired
        |-- StoreBusyError           a TimeoutError: too many calls wait, or others have the lock for too long; nothing changed
        |-- StoreReadOnlyError       a PermissionError: the store cannot be written to, or was opened for reading
        |-- StoreFullError           the disk or the write-ahead log is full: nothing was written; it can be tried again
        |-- OutcomeUnknownError      a change may have been written or not: ask again with the same key
        `-- StoreFailedError         the store cannot be reached, or is closed

    RottingWarning                   a UserWarning: the base class of all warnings
    |-- DataWarning                  about a data file that was read
    |-- AxesWarning                  a table of means seems to have its axes swapped
    |-- SigmaWarning                 the sigma that a policy assumes by default is far from that of the problem's noise
    |-- RepeatWarning                a plain class does not play a run again as before
    `-- RewardsWarning               rewards of decisions seem to be missing

Each is also the built-in exception that one would expect, so `except ValueError` works.

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
    "OutcomeUnknownError",
    "PathExistsError",
    "PathMissingError",
    "RepeatWarning",
    "RewardsWarning",
    "RottingError",
    "RottingWarning",
    "ServiceDeniedError",
    "ServiceError",
    "ServiceUnreachableError",
    "SigmaWarning",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreFailedError",
    "StoreFormatError",
    "StoreFullError",
    "StoreReadOnlyError",
]


class RottingError(Exception):
    """The base class of all exceptions of the library."""


def brief(value: object) -> str:
    """Return the `repr` of a value for an error message, shortened if it is long; paths are shown in full.

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
    """A value breaks a rule. The message is made from the field, the rule and the value.

    Args:
        field: the name of the parameter, field or file that the rule is about.
        rule: what must hold, beginning with a verb: `be a positive finite number`.
        value: the value that breaks the rule. If it cannot be pickled, a pickled error has its text instead.
        got: how the message shows the value; default: its `repr`, shortened if it is long.
        hint: text after the value in the message, with its punctuation: `; did you mean 'fewa'?`.
        where: the place of the value, such as `row 3`; the message begins with it.

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
        """Return the same error with another field, hint or place."""
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
    """A value of the right type breaks a rule."""


class PathExistsError(InvalidValueError, FileExistsError):
    """A path exists, and nothing is overwritten."""


class InvalidTypeError(InvalidArgumentError, TypeError):
    """A value is of the wrong type."""


class KernelError(RottingError, TypeError):
    """A function of a policy or of a noise does what compiled code cannot do; the message says where, and what."""


class KernelIndexError(KernelError, IndexError):
    """A function of a policy or of a noise reads or writes outside an array; the message says where."""


class EngineError(RottingError, RuntimeError):
    """An engine cannot play here; the message says what it lacks, and what to do."""


class CheckError(RottingError, AssertionError):
    """A policy or a noise broke its contract; the message says which rule, and where."""


class PathMissingError(RottingError, FileNotFoundError):
    """There is no such file or folder."""


class MissingDataError(PathMissingError):
    """A data file is missing; the message says which, where it was looked for, and where to get it."""


class MissingExtraError(RottingError, ImportError):
    """An optional dependency is not installed; the message says which, and how to install it."""


class ServiceError(RottingError, OSError):
    """A service failed, is too busy, or sent a response that is not as documented; or the client is closed."""


class ServiceDeniedError(ServiceError, PermissionError):
    """A service refused the token, or needs one."""


class ServiceUnreachableError(ServiceError, ConnectionError):
    """A service did not respond after all retries, or before the deadline; the message has the last failure."""


class StoreError(RottingError, OSError):
    """Something is wrong with the store of events, a file or a database.

    Args:
        reason: what is wrong, as the rest of a sentence that begins with the path; it does not name the store.
        path: the file, or the address of the database. The message is `path`, or "the store", and then `reason`.

    Example:
        >>> error = StoreFailedError("is closed: open it again", "/data/songs.rot")
        >>> print(error)
        /data/songs.rot is closed: open it again
        >>> error.reason  # for clients of a service, which should not learn where its files are
        'is closed: open it again'
    """

    def __init__(self, reason: str = "", path: object = None) -> None:
        super().__init__(f"{'the store' if path is None else path} {reason}")
        self.reason, self.path = reason, path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.path)


class NotAStoreError(StoreError):
    """It is not a store: a file of another program, an empty file, a folder, or a database without its tables."""


class StoreFormatError(StoreError):
    """The format of the store is one that this version of the library does not read; the message says which."""


class StoreDamagedError(StoreError):
    """The store does not hold what was written; the message says where."""


class StoreBusyError(StoreError, TimeoutError):
    """Too many calls wait for the store, or others have used it for too long. Nothing was changed."""


class OutcomeUnknownError(StoreError):
    """The connection was lost while a change was written, and it is not known whether it was.

    Ask again with the same idempotency key: the answer is that of the first call if it was written.
    """


class StoreReadOnlyError(StoreError, PermissionError):
    """The store cannot be written to, or was opened for reading."""


class StoreFullError(StoreError):
    """There is no room: nothing was written, and the same can be tried again.

    The disk is full, or the write-ahead log has grown to its limit because a reader keeps it from being reset.
    """


class StoreFailedError(StoreError):
    """A write failed, or the store is closed: it must be opened again."""


class RottingWarning(UserWarning):
    """The base class of all warnings of the library."""


class DataWarning(RottingWarning):
    """A data file was read, but something in it looks wrong."""


class AxesWarning(RottingWarning):
    """A table of means has far more arms than rounds: its axes seem to be swapped."""


class SigmaWarning(RottingWarning):
    """The sigma that a policy assumes because none was given is more than twice or less than half that of the noise."""


class RepeatWarning(RottingWarning):
    """A plain class does not play a run again as before: a result with it depends on more than the seed."""


class RewardsWarning(RottingWarning):
    """Rewards of decisions seem to be missing, or come after their decisions have expired.

    Example:
        >>> import warnings
        >>> import rotting
        >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz", "rock"], max_pending=2)
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     decisions = [bandit.decide() for _ in range(3)]
        >>> print(caught[0].category.__name__, caught[0].message)  # doctest: +NORMALIZE_WHITESPACE
        RewardsWarning max_pending reached: 2 decisions have no reward yet; each new decision now expires the oldest one.
        Decisions that paid nothing need a reward of 0
    """
