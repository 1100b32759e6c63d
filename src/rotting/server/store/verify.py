"""Verifies the log of a bandit: every event is what was written, and deciding again gives the same decisions and snapshots."""

from collections.abc import Callable
from dataclasses import dataclass

from rotting.errors import RottingError, brief
from rotting.live.saved_state import restore, save
from rotting.registry import from_json as policy_from_json
from rotting.server.store.database import Database, all_records
from rotting.server.store.events import BanditRecord, StoredEvent, decode_event, event_digest
from rotting.server.store.snapshots import restore_snapshot
from rotting.server.store.turns import Folded, base_of, changes_policy, learn_anew


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
        check = _Check(database, record)
        check.run(progress)
        events += check.events
        problems += check.problems
        notes += check.notes
    return Verification(events, tuple(problems), tuple(notes))


class _Check:
    """The check of one bandit."""

    def __init__(self, database: Database, record: BanditRecord) -> None:
        self._database, self._record = database, record
        self._where = f"bandit {brief(record.name)}"
        self._snapshots = {each.number: each for each in database.snapshots(record) if each.number > record.base}
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.events = 0
        self._decisions = self._different = 0
        self._first = ""

    def run(self, progress: Callable[[], object] | None) -> None:
        """Check the log from its base on."""
        record = self._record
        try:
            folded = base_of(self._database, record, "auto")
            number, digest = record.base, record.first_digest
            while events := self._database.events(record, number + 1):
                for event in events:
                    known = event_digest(digest, number + 1, event.time, event.caller, event.payload)
                    if event.number != number + 1 or event.digest != known:
                        self.problems.append(f"{self._where}: event {number + 1} is not what was written")
                        return
                    if changes_policy(event):
                        policy = policy_from_json(decode_event(event)["policy"])
                        folded = learn_anew(self._database, record, policy, "auto", event.number)
                        self._check_snapshot(folded, event)
                    else:
                        self._apply(folded, event)
                    number, digest = event.number, event.digest
                    self.events += 1
                    if progress is not None:
                        progress()
        except RottingError as error:
            self.problems.append(f"{self._where}: {error}")
            return
        if self._different:
            share = f"{self._different} of {self._decisions} decisions would differ today"
            self.notes.append(f"{self._where}: {share}; first, {self._first}")

    def _apply(self, folded: Folded, event: StoredEvent) -> None:
        state = folded.bandit.state
        state.events = None
        decided = state.apply(decode_event(event))
        if decided is not None:
            self._decisions += 1
            if decided.differs:
                self._different += 1
                self._first = self._first or (
                    f"that of round {state.rounds} was {decided.recorded!r}, and would be {decided.chosen!r}"
                )
        self._check_snapshot(folded, event)

    def _check_snapshot(self, folded: Folded, event: StoredEvent) -> None:
        snapshot = self._snapshots.get(event.number)
        if snapshot is None:
            return
        what = f"{self._where}: the snapshot at event {event.number}"
        if snapshot.digest != event.digest:
            self.problems.append(f"{what} belongs to another log")
            return
        try:
            saved = save(restore_snapshot(snapshot))
        except (RottingError, ValueError, TypeError, LookupError, AttributeError) as error:
            self.problems.append(f"{what} cannot be read back: {error}")
            return
        if saved != save(restore(save(folded.bandit.state))):
            self.problems.append(f"{what} is not the state that the events up to it make")
