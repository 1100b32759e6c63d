"""Verifies the log of a bandit: every event is what was written, and deciding again gives the same decisions and snapshots."""

from collections.abc import Callable
from dataclasses import dataclass

from rotting.errors import RottingError, brief
from rotting.live.saved_state import restore, save
from rotting.registry import from_json as policy_from_json
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord, StoredEvent, StoredSnapshot, decode_event, event_digest
from rotting.server.store.snapshots import UNREADABLE, restore_snapshot
from rotting.server.store.turns import FoldedBandit, after_change, base_of, changes_policy, learn_anew


@dataclass(frozen=True)
class Verification:
    """The result of `verify`."""

    events: int
    """The number of events that were read."""
    problems: tuple[str, ...]
    """A sentence for each damage."""
    notes: tuple[str, ...] = ()
    """How many decisions the present code would make otherwise."""


def verify(database: Database, name: str | None = None, progress: Callable[[], object] | None = None) -> Verification:
    """Check every event and every snapshot of a bandit, or of all bandits, and decide again.

    Replay trusts the log: a recorded decision counts, even if the policy would decide differently today. This function alone
    compares them.

    Args:
        database: the database, which others may be writing to.
        name: the bandit; all by default.
        progress: called after each event.

    Example:
        >>> import tempfile
        >>> import rotting
        >>> from rotting.server.store.database import open_database
        >>> folder = tempfile.TemporaryDirectory()
        >>> with rotting.open(f"{folder.name}/songs.rot", rotting.UCB1(), arms=["jazz", "rock"]) as bandit:
        ...     _ = bandit.decide(), bandit.decide()
        >>> verify(open_database(f"{folder.name}/songs.rot", readonly=True))
        Verification(events=2, problems=(), notes=())
        >>> folder.cleanup()
    """
    problems, notes, events = database.check(), list[str](), 0
    records = [database.find(name)] if name is not None else all_records(database)
    for record in records:
        if record is None:
            problems.append(f"there is no bandit {name!r}")
            continue
        found = _check(database, record, progress)
        events += found.events
        where = f"bandit {brief(record.name)}: "
        problems += [where + each for each in found.problems]
        notes += [where + each for each in found.notes]
    return Verification(events, tuple(problems), tuple(notes))


def _check(database: Database, record: BanditRecord, progress: Callable[[], object] | None) -> Verification:
    """Check the log of one bandit from its base on."""
    snapshots = {each.number: each for each in database.snapshots(record) if each.number > record.base}
    checked, decisions, different, first = 0, 0, 0, ""
    problems: list[str] = []
    number, digest = record.base, record.first_digest
    try:
        folded = base_of(database, record, "auto")
        while events := database.events(record, number + 1):
            for event in events:
                if event.number != number + 1 or event.digest != event_digest(digest, number + 1, *event[1:4]):
                    return Verification(checked, (*problems, f"event {number + 1} is not what was written"))
                if changes_policy(event):
                    if record.base:  # what it has learned from may be gone
                        folded = after_change(database, record, event)
                    else:
                        policy = policy_from_json(decode_event(event)["policy"])
                        folded = learn_anew(database, record, policy, "auto", event.number)
                else:
                    state = folded.bandit.state
                    state.events = None
                    decided = state.apply(decode_event(event))
                    decisions += decided is not None
                    if decided is not None and decided.differs:
                        different += 1
                        what = f"was {decided.recorded!r}, and would be {decided.chosen!r}"
                        first = first or f"that of round {state.rounds} {what}"
                if event.number in snapshots:
                    problems += _snapshot_problems(snapshots[event.number], event, folded)
                number, digest = event.number, event.digest
                checked += 1
                if progress is not None:
                    progress()
    except RottingError as error:
        return Verification(checked, (*problems, str(error)))
    notes = [f"{different} of {decisions} decisions would differ today; first, {first}"] if different else []
    return Verification(checked, tuple(problems), tuple(notes))


def _snapshot_problems(snapshot: StoredSnapshot, event: StoredEvent, folded: FoldedBandit) -> list[str]:
    what = f"the snapshot at event {event.number}"
    if snapshot.digest != event.digest:
        return [f"{what} belongs to another log"]
    try:
        saved = save(restore_snapshot(snapshot))
    except UNREADABLE as error:
        return [f"{what} cannot be read back: {error}"]
    if saved != save(restore(save(folded.bandit.state))):
        return [f"{what} is not the state that the events up to it make"]
    return []
