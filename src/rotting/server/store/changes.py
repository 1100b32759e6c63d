"""Changes of the settings of a bandit in a database."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rotting.errors import StoreBusyError, StoreDamagedError
from rotting.live.events import Event
from rotting.live.settings import checked_change
from rotting.registry import from_json as policy_from_json
from rotting.server.store.turns import Call, FoldedBandit, PolicyChanged, Turns, learn_anew

if TYPE_CHECKING:
    from rotting.simulation.engines.tiers import CompileMode

_NEAR = 200  # events that may be missing when the turn begins
_LEARNING_SECONDS = 3_600.0  # that learning anew may take; it stops no other call


def change_settings(
    turns: Turns,
    name: str,
    reason: str,
    settings: dict[str, Any],
    check_active: Callable[[FoldedBandit], None],
    caller: str = "",
    seconds: float = 30.0,
) -> None:
    """Change settings as `Bandit.change` does.

    Another policy learns what the log keeps beside the turns, while others go on to decide with the policy of before. Then the
    event is written in a turn of its own, together with the new state, which the other processes load.

    Args:
        turns: makes the change.
        name: the bandit.
        reason: why, for the log.
        settings: the settings by name, as for `Bandit.change`.
        check_active: raises an error if the bandit is archived.
        caller: the name of the caller's token, for the log.
        seconds: how long to wait for a turn.
    """

    def check(folded: FoldedBandit) -> Event | None:
        check_active(folded)
        return checked_change(folded.bandit.state, reason, settings)

    event = turns.read(name, check, seconds)
    if event is None:
        return
    if "policy" not in event:

        def work(folded: FoldedBandit) -> None:
            check_active(folded)
            folded.bandit.change(reason=reason, **settings)

        turns.change(name, work, caller=caller, seconds=seconds)
        return
    until = time.monotonic() + _LEARNING_SECONDS
    while time.monotonic() < until:
        with suppress(PolicyChanged):  # by somebody else, meanwhile
            if _change_policy(turns, name, event, check, caller, seconds):
                return
    raise StoreBusyError(f"is busy: bandit {name!r} was changed again and again", turns.database.place)


def _change_policy(
    turns: Turns, name: str, event: Event, check: Callable[[FoldedBandit], Event | None], caller: str, seconds: float
) -> bool:
    """Learn anew and change the policy; return False if the log or the settings have changed meanwhile."""
    database = turns.database
    record = turns.read(name, lambda folded: folded.record, seconds)
    compile: CompileMode = "never" if turns.compile == "never" else "now"
    try:
        twin = learn_anew(database, record, policy_from_json(event["policy"]), compile)
    except StoreDamagedError:
        now = database.find(name)
        if now is None or now.base == record.base:
            raise
        return False  # events were replaced by a base meanwhile

    def work(folded: FoldedBandit) -> bool:
        # Events that are missing were written before this turn, which makes no other call.
        while twin.number < folded.number and (events := database.events(record, twin.number + 1)):
            twin.follow(events)
        current = check(folded)
        if current is None:  # somebody else has made this change
            return True
        if twin.digest != folded.digest or current.get("policy") != event["policy"]:
            return False
        folded.take_over(twin, current)
        return True

    while turns.read(name, lambda folded: folded.number, seconds) - twin.number > _NEAR:
        twin.follow(database.events(record, twin.number + 1))
    call = Call(name, work, caller=caller, seconds=seconds)
    call.alone = True
    return turns.submit(call).result()
