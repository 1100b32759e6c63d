"""The settings of a bandit that can be changed while it lives: what `Bandit.change` takes, as data for the event `changed`.

| setting | in the event |
|---|---|
| `policy`, or its parameters | the policy as JSON: what was learned is learned anew from the events that are kept |
| `reward_window`, `missing` | both: seconds or None, and a reward or None; they hold for the decisions that are pending, too |
| `holdout` | a share |
| `max_pending` | a number, or None |
| `caps`, `floors`, `paused` | pairs of an arm and a share; arms |

The settings count from their event on. Only the policy is another one from the first event that is kept on, since its state
cannot be made from that of the former one. With the policy, the reward window or the holdout, the comparison of `uplift` begins
anew.
"""

from collections.abc import Hashable
from typing import Any

from rotting.common.rules import positive_int, suggest
from rotting.errors import InvalidValueError
from rotting.live.arms import check_iterable
from rotting.live.bandit_state import BanditState, RewardWindow, check_learner
from rotting.live.events import Event
from rotting.live.holdout import SHARE
from rotting.live.limits import Limits, check_shares
from rotting.live.values import check_text
from rotting.policy import Policy

_SETTINGS = ("policy", "reward_window", "missing", "holdout", "max_pending", "caps", "floors", "paused")
_MAX_REASON = 1_000  # characters


def settings_of(state: BanditState) -> dict[str, Any]:
    """Return the settings of a bandit as they are in events, without its policy."""
    names, limits = state.arms.names, state.limits or Limits()
    return {
        "reward_window": None if state.window is None else state.window.seconds,
        "missing": 0.0 if state.window is None else state.window.missing,
        "holdout": state.holdout,
        "max_pending": state.max_pending,
        "caps": [[names[slot], share] for slot, share in sorted(limits.caps.items())],
        "floors": [[names[slot], share] for slot, share in sorted(limits.floors.items())],
        "paused": [names[slot] for slot in sorted(limits.paused)],
    }


def checked_change(state: BanditState, reason: object, given: dict[str, Any]) -> Event | None:
    """Return the event for a change of these settings; None if all are as they should be.

    Raises an error that says what cannot be changed so.

    Args:
        state: the bandit.
        reason: why the settings are changed.
        given: the settings by name, and parameters of the policy by theirs.
    """
    if len(check_text("reason", reason)) > _MAX_REASON:
        raise InvalidValueError("reason", f"have at most {_MAX_REASON} characters", reason)
    if not given:
        raise InvalidValueError("change", "name a setting, such as alpha or holdout", given, got="none")
    settings = {name: value for name, value in given.items() if name in _SETTINGS}
    event: Event = {"event": "changed"}  # with the policy first, by which stores recognise that they must fold anew
    policy = _policy(state.policy, settings, {name: each for name, each in given.items() if name not in settings})
    if policy != state.policy:
        event["policy"] = policy.to_json()
    if {"reward_window", "missing"} & set(settings) or (policy != state.policy and state.window is not None):
        event |= _window(state, policy, settings)
    if "holdout" in settings:
        event["holdout"] = SHARE.check("holdout", settings["holdout"])
    if "max_pending" in settings:
        event["max_pending"] = _max_pending(state, settings["max_pending"])
    for name in ("caps", "floors"):
        if name in settings:
            shares = sorted((state.arms.known(arm), share) for arm, share in check_shares(name, settings[name]))
            event[name] = [[state.arms.names[slot], share] for slot, share in shares]
    if "paused" in settings:
        event["paused"] = _paused(state, settings["paused"])
    before = settings_of(state)
    if "policy" not in event and all(before.get(name) == value for name, value in event.items() if name != "event"):
        return None
    return {**event, "reason": reason}


def _policy(policy: Policy, settings: dict[str, Any], params: dict[str, Any]) -> Policy:
    """Return the policy after the change."""
    if "policy" in settings:
        check_learner(settings["policy"])
        policy = settings["policy"]
    known = [each.name for each in type(policy).parameters()]
    for name in params:
        if name not in known:
            names = [*_SETTINGS, *known]
            raise InvalidValueError("setting", f"be one of {', '.join(names)}", name, hint=suggest(name, names))
    return type(policy)(**{name: params.get(name, getattr(policy, name)) for name in known}) if params else policy


def _window(state: BanditState, policy: Policy, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the reward window after the change; a setting that is not given stays."""
    before = state.window
    seconds = settings.get("reward_window", None if before is None else before.seconds)
    missing = settings.get("missing", 0.0 if before is None or seconds is None else before.missing)
    window = RewardWindow.checked(policy, seconds, missing)
    if window is None:
        return {"reward_window": None, "missing": 0.0}
    return {"reward_window": window.seconds, "missing": window.missing}


def _max_pending(state: BanditState, value: object) -> int | None:
    if value is None:
        return None
    most = positive_int("max_pending", value)
    if most < state.n_pending:
        rule = f"be at least the number of pending decisions, {state.n_pending}: no decision is ended by a change"
        raise InvalidValueError("max_pending", rule, value)
    return most


def _paused(state: BanditState, arms: object) -> list[Hashable]:
    check_iterable(arms, "paused")
    slots = {state.arms.known(arm) for arm in arms}  # type: ignore[attr-defined]  # checked
    if slots.issuperset(state.arms.active.values()):
        raise InvalidValueError("paused", "leave at least one arm", arms, got="all of them")
    return [state.arms.names[slot] for slot in sorted(slots)]
