"""Descriptions of bandits: the policy, the arms and the other arguments that a bandit was created with, as JSON-able data."""

from collections.abc import Hashable, Iterator, Mapping

from rotting.engines.tiers import CompileMode
from rotting.live.arms import restore_arm
from rotting.live.bandit_state import BanditState, RewardWindow
from rotting.live.saved_state import current_rule
from rotting.policy import Policy
from rotting.registry import from_json as policy_from_json
from rotting.store.protocol import Payload
from rotting.store.records import decode
from rotting.store.writers import Writer


def describe(state: BanditState, seed: int) -> Payload:
    """Return the description of a new bandit, from which `initial_state` makes its state."""
    window = {} if state.window is None else {"reward_window": state.window.seconds, "missing": state.window.missing}
    return {
        "policy": state.policy.to_json(),
        "arms": [state.arms.names[slot] for slot in state.arms.slots],
        "seed": seed,
        "pending": state.pending_rule,
        "max_pending": state.ledger.max_pending,
        **window,
        **({} if state.probe is None else {"probe": state.probe.share}),
        **Writer.of(state.policy).to_json(),
    }


def with_current_words(description: Payload) -> Payload:
    """Return a description from a store with the words that an earlier version used replaced by the present ones."""
    return {**description, "pending": current_rule(description["pending"])} if "pending" in description else description


def initial_state(description: Payload, compile: CompileMode = "auto") -> BanditState:
    """Return the state of a bandit before its first event."""
    policy, arms = policy_from_json(description["policy"]), [restore_arm(arm) for arm in description["arms"]]
    seed, pending, max_pending = description["seed"], current_rule(description["pending"]), description["max_pending"]
    options = {key: description[key] for key in ("reward_window", "missing", "probe") if key in description}
    return BanditState.new(policy, arms, seed, pending, max_pending, **options, compile=compile)


def window_in(arguments: Mapping[str, object], policy: Policy) -> RewardWindow | None:
    """Return the reward window in a description, or in other arguments of a bandit with this policy."""
    return RewardWindow.checked(policy, arguments.get("reward_window"), arguments.get("missing", 0.0))


def is_made_with(description: Payload, policy: Policy, arms: list[Hashable], options: Mapping[str, object]) -> bool:
    """Return whether a bandit was created with these arguments; `seed`, `pending` and `max_pending` may be left out."""
    window = window_in(options, policy)
    same = policy == policy_from_json(description["policy"]) and arms == [restore_arm(arm) for arm in description["arms"]]
    same = same and window == window_in(description, policy) and options.get("probe") == description.get("probe")
    return same and all(description[key] == options[key] for key in ("seed", "pending", "max_pending") if key in options)


class Descriptions(Mapping[str, Payload]):
    """The description of each bandit of a store, by name.

    Args:
        written: the descriptions in the store as JSON, which takes little memory; they are decoded when they are read. The
            writer may add some at any time, in another thread.
    """

    def __init__(self, written: Mapping[str, bytes]) -> None:
        self._written = written
        self.unwritten: dict[str, Payload] = {}
        """The descriptions of bandits that are not in the store yet."""

    def __getitem__(self, name: str) -> Payload:
        found = self.unwritten.get(name)
        return with_current_words(decode(self._written[name])) if found is None else found

    def __contains__(self, name: object) -> bool:
        return name in self.unwritten or name in self._written

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._written, *self.unwritten]))

    def __len__(self) -> int:
        return len(self._written) + sum(name not in self._written for name in self.unwritten)
