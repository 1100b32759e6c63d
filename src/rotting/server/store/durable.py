"""`rotting.open`: a bandit in a database, with the methods of `Bandit`, in any number of threads and processes at once."""

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from os import PathLike
from typing import Any, Literal, Self, TypeVar

from rotting.common.rules import positive
from rotting.errors import InvalidValueError, RewardsWarning, StoreError
from rotting.live.arms import Arm, UnknownArms, check_iterable, restore_arm
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.settings import settings_of
from rotting.live.values import Duration, seconds_in
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.server.store.changes import change_settings
from rotting.server.store.database import Durability, open_database
from rotting.server.store.events import BanditRecord, check_name, decode, describe, initial_state, new_record, window_in
from rotting.server.store.snapshots import remove_old_events, sweep
from rotting.server.store.turns import Call, FoldedBandit, RecordedBandit, Turns
from rotting.simulation.engines.tiers import CompileMode

T = TypeVar("T")

_LONGEST_WAIT = 1e6  # seconds: Python waits no longer than some years
_CHANGES = (
    "pull", "decide", "reward", "reward_many", "update", "cancel", "expire", "pause", "resume",
    "add_arm", "remove_arm", "retire", "revive", "forget",
)  # fmt: skip
_VIEWS = (
    "preview", "explain", "propensities", "uplift", "get_state", "policy", "arms", "rounds", "pending", "is_compiled",
)  # fmt: skip


class DurableBandit(Bandit[Arm]):
    """A bandit in a database; `rotting.open` returns one.

    It has the methods of `Bandit`. When a method returns, its change is in the database, as durable as was asked for. Any
    number of threads and processes may use the same bandit at the same time, and each sees what the others have decided. After
    an error nothing was changed, except after an `OutcomeUnknownError`: then the change may have been written.

    Args:
        turns: makes the changes.
        name: the name of the bandit.
        timeout: seconds that a method waits for the database.
    """

    def __init__(self, turns: Turns, name: str, timeout: float) -> None:
        self._turns, self._name, self._timeout = turns, name, timeout

    @property
    def name(self) -> str:
        """The name of the bandit in the store."""
        return self._name

    def _check_active(self, folded: FoldedBandit) -> None:
        if folded.record.archived:
            raise InvalidValueError("bandit", "be active", self._name, hint=", which is archived")

    def _change(self, work: Callable[[RecordedBandit], T]) -> T:
        def change(folded: FoldedBandit) -> T:
            self._check_active(folded)
            return work(folded.bandit)

        call = self._turns.submit(Call(self._name, change, seconds=self._timeout))
        try:
            return call.result()
        finally:
            for message in call.warnings:
                warnings.warn(message, RewardsWarning, stacklevel=4)

    def _read(self, work: Callable[[RecordedBandit], T]) -> T:
        return self._turns.read(self._name, lambda folded: work(folded.bandit), self._timeout)

    def _set(self, **changes: bool | float | None) -> None:
        self._turns.change(self._name, lambda folded: folded.changes.update(changes), seconds=self._timeout)

    def learn(self, data: object, *, unknown: UnknownArms = "refuse", name: str | None = None) -> int:
        """Learn many past rewards at once, as `Bandit.learn` does."""
        from rotting.live.past_decisions import read_table  # noqa: PLC0415 - few programs need it

        table = read_table(data, name)  # before the turn, which others wait for
        return self._change(lambda bandit: bandit.learn(table, unknown=unknown))

    def change(self, *, reason: str = "", **settings: Any) -> None:
        """Change settings from now on, as `Bandit.change` does.

        Another policy, or other parameters, learn anew from all events that the log keeps. Meanwhile other calls go on with the
        policy of before.
        """
        change_settings(self._turns, self._name, reason, settings, self._check_active, seconds=self._timeout)

    def warm_up(self) -> None:
        """Compile everything that the bandit will call, as `Bandit.warm_up` does."""
        Bandit.from_state(self.get_state(), self._turns.compile).warm_up()  # a copy, so that no turn waits

    def archive(self) -> None:
        """Archive the bandit: it makes no more decisions, but can be read."""
        self._set(archived=True)

    def delete(self) -> None:
        """Delete the bandit and its log; its name can be used again."""
        self._set(deleted=True)
        sweep(self._turns.database)

    def close(self) -> None:
        """Delete events that are not kept any longer, and close the connections. A second call does nothing."""
        with suppress(StoreError, InvalidValueError):  # it is closed already, or another process can do it later
            if remove_old_events(self._turns.database, self._name):
                sweep(self._turns.database)
        self._turns.close()

    def __repr__(self) -> str:
        return f"DurableBandit({self._turns.database.place!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy a bandit as an independent one in memory, without a store."""
        return Bandit.from_state, (self.get_state(),)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _forward(name: str, *, changes: bool) -> None:
    """Give `DurableBandit` a method or a property of `Bandit` that is made in a turn, or on the newest state."""
    method = getattr(Bandit, name)
    if isinstance(method, property):
        setattr(DurableBandit, name, property(lambda self: self._read(method.fget), doc=method.__doc__))
        return

    @functools.wraps(method)
    def forwarded(self: DurableBandit, *args: Any, **options: Any) -> Any:
        # The work may be done twice, and an iterator can be read only once.
        given = [list(each) if isinstance(each, Iterator) else each for each in args]
        named = {key: list(each) if isinstance(each, Iterator) else each for key, each in options.items()}
        return (self._change if changes else self._read)(lambda bandit: method(bandit, *given, **named))

    setattr(DurableBandit, name, forwarded)


for _name in _CHANGES:
    _forward(_name, changes=True)
for _name in _VIEWS:
    _forward(_name, changes=False)


def open(  # noqa: A001 - `rotting.open`, as `gzip.open`
    path: str | PathLike[str],
    policy: Policy | None = None,
    arms: Iterable[Arm] | None = None,
    seed: int | None = None,
    pending: Literal["shrink", "ignore"] | None = None,
    max_pending: int | None = None,
    name: str = "bandit",
    durability: Durability = "disk",
    reward_window: Duration | None = None,
    missing: float | None = 0.0,
    holdout: float | None = None,
    keep: Duration | None = None,
    timeout: float = 30.0,
    compile: CompileMode = "auto",
) -> DurableBandit[Arm]:
    """Create a durable bandit, or open the one that the database holds.

    The same call does both, in any number of processes at the same time. For a bandit that exists, arguments may be left out.
    Arguments that are passed must be those that the bandit was created with, or those that it has now; otherwise an error is
    raised, so that a program with other arguments does not use a bandit that does not match them. Add new arms with `add_arm`,
    and change settings with `change`.

    Opening applies the recorded decisions and rewards; it does not decide again. So a store also opens after an upgrade that
    changes decisions. `rotting verify` says which decisions would differ.

    Args:
        path: an SQLite file, which is created if it does not exist, or the address of a PostgreSQL database:
            `postgresql://user@host/database`, with `?schema=name` for several projects in one database.
        policy: as for `Bandit`; required for a new one.
        arms: as for `Bandit`; required for a new one. For an existing one: the arms that it was created with, or those that it
            has now.
        seed: as for `Bandit`; 0 for a new one by default.
        pending: as for `Bandit`.
        max_pending: as for `Bandit`.
        name: the name of the bandit in the store.
        durability: what is safe when a method returns. "disk": its changes survive a power cut; "os": they survive the end of
            the process.
        reward_window: as for `Bandit`. Windows also close while no program runs.
        missing: as for `Bandit`, with a `reward_window`.
        holdout: as for `Bandit`.
        keep: how long events are kept, such as "90d"; older ones are replaced by a snapshot. For ever by default. It can be
            changed by opening the bandit with another value.
        timeout: seconds that a method waits for its turn before it raises a `StoreBusyError`.
        compile: as for `Bandit`.

    Example:
        >>> import tempfile
        >>> import rotting
        >>> folder = tempfile.TemporaryDirectory()
        >>> for _ in range(3):
        ...     with rotting.open(f"{folder.name}/songs.rot", rotting.UCB1(), arms=["jazz", "rock"]) as bandit:
        ...         decision = bandit.decide()
        ...         print(decision.round, decision.arm, bandit.reward(decision.id, 1.0 if decision.arm == "jazz" else 0.0))
        1 jazz applied
        2 rock applied
        3 jazz applied
        >>> folder.cleanup()
    """
    check_name(name)
    if arms is not None:
        check_iterable(arms)
    listed = None if arms is None else list(arms)
    seconds = min(positive("timeout", timeout), _LONGEST_WAIT)
    kept = None if keep is None else seconds_in("keep", keep)
    given = {"seed": seed, "pending": pending, "max_pending": max_pending, "holdout": holdout}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if reward_window is not None or missing != 0.0:
        options |= {"reward_window": reward_window, "missing": missing}
    turns = Turns(open_database(path, durability), compile)
    try:
        return open_in(turns, name, policy, listed, kept, seconds, **options)
    except BaseException:
        turns.close()
        raise


def open_in(
    turns: Turns,
    name: str,
    policy: Policy | None,
    arms: list[Arm] | None,
    keep: float | None = None,
    timeout: float = 30.0,
    **options: Any,
) -> DurableBandit[Arm]:
    """Create or open a bandit in an open database; closing the bandit closes the database."""
    if turns.database.find(name) is None:
        if policy is None or arms is None:
            missing = "policy" if policy is None else "arms"
            raise InvalidValueError(missing, "be given for a bandit that is new to its store", None)
        create(turns, name, policy, arms, keep, timeout, **options)

    def check(folded: FoldedBandit) -> None:
        for error in differences(folded.record, folded.bandit.state, policy, arms, options):
            raise error

    turns.read(name, check)
    record = turns.database.find(name)
    bandit = DurableBandit[Arm](turns, name, timeout)
    if keep is not None and record is not None and record.keep != keep:
        bandit._set(keep=keep)  # noqa: SLF001 - of this module
    return bandit


def create(
    turns: Turns,
    name: str,
    policy: Policy,
    arms: Iterable[Arm],
    keep: float | None = None,
    timeout: float = 30.0,
    **options: Any,
) -> bool:
    """Create a bandit unless there is one of this name; return whether it was created."""
    # Checked and compiled before the turn, which others wait for.
    state = BanditState.new(policy, arms, **options, compile=turns.compile)
    record = new_record(name, describe(state, options.get("seed", 0)), keep)

    def new() -> tuple[BanditRecord, BanditState]:
        return record, initial_state(record, turns.compile)

    return turns.change(name, lambda folded: folded.record.id == record.id, new=new, seconds=timeout)


def differences(
    record: BanditRecord, state: BanditState, policy: Policy | None, arms: list[Arm] | None, options: Mapping[str, object]
) -> Iterator[InvalidValueError]:
    """Yield an error for each argument that is neither the one that a bandit was made with nor the one that it has now."""
    described, now = decode(record.description), settings_of(state)
    made_with = policy_from_json(described["policy"])
    if policy is not None and policy not in (made_with, state.policy):
        yield InvalidValueError("policy", f"be that of the store, {state.policy!r}", policy)
    present = [state.arms.names[slot] for slot in state.arms.slots]
    if arms is not None and arms not in ([restore_arm(arm) for arm in described["arms"]], present):
        yield InvalidValueError("arms", "be those that the bandit was made with, or has now", arms, hint="; see add_arm")
    if not {"reward_window", "missing"}.isdisjoint(options):
        window = window_in(options, state.policy)
        if window not in (window_in(described, made_with), state.window):
            rule = "be those of the store, " + ("none" if state.window is None else repr(tuple(state.window)))
            yield InvalidValueError("reward_window and missing", rule, None if window is None else tuple(window))
    for key in ("seed", "pending", "max_pending", "holdout"):
        if key in options and options[key] not in (described[key], now.get(key, described[key])):
            yield InvalidValueError(key, f"be that of the store, {now.get(key, described[key])!r}", options[key])
