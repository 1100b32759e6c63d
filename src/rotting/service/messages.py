"""The bodies of requests and answers, checked strictly: no other fields, no strings for numbers."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rotting.live.arms import MAX_PRIOR_WEIGHT
from rotting.live.decisions import Outcome

MAX_EXPIRED = 10_000
"""Decisions that one request can expire by their age, at most."""
MAX_COUNT = 1_000
"""Decisions or rewards in one request, at most."""
NAME = r"^[A-Za-z0-9._~-]{1,100}\Z"
"""What a bandit may be called, but for `.` and `..`: what a URL carries as it is."""

_Arm = Annotated[str, Meta(min_length=1, max_length=200)]
_Arms = Annotated[list[_Arm], Meta(min_length=1, max_length=100_000)]
_Name = Annotated[str, Meta(pattern=NAME)]
_Id = Annotated[str, Meta(min_length=1, max_length=100)]
_IdempotencyKey = Annotated[str, Meta(min_length=1, max_length=200)]


class NewBandit(Struct, forbid_unknown_fields=True):
    """How a bandit is made. What is left out is as in the bandit that `like` names, or as in `rotting.Bandit`."""

    like: _Name | UnsetType = UNSET
    """A bandit that was made before: a template."""
    policy: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    """The name of a policy, as `rotting list policies` prints it, such as `eff-raw-ucb`."""
    params: dict[str, float | str] | UnsetType = UNSET
    """Parameters of the policy."""
    arms: _Arms | UnsetType = UNSET
    """Names of the arms, each once."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET
    pending: Literal["shrink", "ignore"] | UnsetType = UNSET
    """Whether decisions under way count."""
    max_pending: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    """The most decisions that are waited for; when there is one more, the oldest expires."""


class BanditAnswer(Struct):
    """A bandit. The ETag of the answer is the revision of its arms."""

    name: str
    policy: str
    params: dict[str, float | str]
    seed: int
    pending_rule: Literal["shrink", "ignore"]
    max_pending: int
    archived: bool
    rounds: int
    pending: int
    arms: list[Any]
    """Those that may be chosen."""
    retired: list[Any]
    """Those that may not, and of which is known what was learned."""


class BanditRow(Struct):
    """A bandit in the list of all."""

    name: str
    policy: str
    params: dict[str, float | str]
    archived: bool
    loaded: bool
    """Whether it is in memory; else it is resumed when it is used."""


class BanditList(Struct):
    """Bandits in the order of their names."""

    bandits: list[BanditRow]
    next: str | None
    """What to ask for with `after` to see more; null at the end."""


class DecisionRequest(Struct, forbid_unknown_fields=True):
    """What to decide; every field may be left out, and the body too."""

    count: Annotated[int, Meta(ge=1, le=MAX_COUNT)] = 1
    """How many distinct arms to choose, one after the other."""
    allow: _Arms | None = None
    """The arms to choose from; all by default."""
    exclude: Annotated[list[_Arm], Meta(max_length=100_000)] | None = None
    """Arms not to choose."""
    idempotency_key: _IdempotencyKey | None = None
    """The same key with the same request gives the same decisions again, for ever; with another request it is refused."""
    dry_run: bool = False
    """Say what would be decided, and change nothing; the ids are null."""


class ReasonAnswer(Struct):
    """What decided; null for what is infinite, or what the policy does not compute."""

    index: float | None
    mean: float | None
    window: int
    width: float | None
    pulls: int
    """Rewards so far."""
    pending: int
    """Decisions under way."""


class DecisionAnswer(Struct):
    """A decision that waits for its reward."""

    id: str | None
    """What to send with the reward; null after a dry run."""
    arm: Any
    propensity: float
    """The probability with which this arm was chosen."""
    round: int
    reason: ReasonAnswer


class DecisionsAnswer(Struct):
    """Decisions, best first."""

    decisions: list[DecisionAnswer]


class Reward(Struct, forbid_unknown_fields=True):
    """What a decision paid. A reward of 0 must be reported too."""

    id: _Id
    value: Annotated[float, Meta(ge=-1e100, le=1e100)]


Rewards = Annotated[list[Reward], Meta(min_length=1, max_length=MAX_COUNT)]


class Result(Struct):
    """What became of a reward, or of a decision that was ended."""

    id: str
    outcome: Outcome


class ResultsAnswer(Struct):
    """What became of each, in the order of the request."""

    results: list[Result]


class Cancellation(Struct, forbid_unknown_fields=True):
    """Decisions that were never shown: those of `ids`, or those that were made with the idempotency keys `keys`."""

    ids: Annotated[list[_Id], Meta(min_length=1, max_length=MAX_COUNT)] | None = None
    keys: Annotated[list[_IdempotencyKey], Meta(min_length=1, max_length=MAX_COUNT)] | None = None
    """No decision can be made with these keys any more."""


class Expiration(Struct, forbid_unknown_fields=True):
    """Decisions that were shown and will have no answer: those of `ids`, or all older than some rounds."""

    ids: Annotated[list[_Id], Meta(min_length=1, max_length=MAX_COUNT)] | None = None
    older_than_rounds: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    missing: Literal["drop"] | Annotated[float, Meta(ge=-1e100, le=1e100)] = "drop"
    """`drop`: learn nothing; or the reward to learn in its place."""
    limit: Annotated[int, Meta(ge=1, le=MAX_EXPIRED)] = MAX_EXPIRED
    """Of the decisions older than `older_than_rounds`, end at most so many, the oldest first."""


class ExpirationAnswer(Struct):
    """What became of each of the ids, and how many decisions ended."""

    results: list[Result]
    expired: int
    more: bool = False
    """Whether there may be more decisions older than `older_than_rounds`: send the same request again."""


class ArmRequest(Struct, forbid_unknown_fields=True):
    """How an arm is added; the body may be left out."""

    resume: bool = False
    """Let an arm that was retired be chosen again, with what was learned of it."""
    prior: tuple[float, Annotated[int, Meta(ge=1, le=MAX_PRIOR_WEIGHT)]] | Literal["pooled"] | None = None
    """What to assume of a new arm: a mean and a weight."""


class ArmsAnswer(Struct):
    """The arms after a change. The ETag of the answer is their revision."""

    arms: list[Any]
    retired: list[Any]


class ArmAnswer(ReasonAnswer):
    """What decides about one arm."""

    arm: Any


class ExplainAnswer(Struct):
    """For each arm what decides whether it is chosen next."""

    round: int
    """The round about to be played."""
    arms: list[ArmAnswer]


class LogEvent(Struct):
    """An event of the log."""

    number: int
    epoch: int
    payload: dict[str, Any]


class LogAnswer(Struct):
    """Events of a bandit, in order."""

    events: list[LogEvent]
    next: int
    """What to ask for with `after` to see more."""


class LastAnswer(Struct):
    """The newest decision, and what decided; the reason is null if it was made before the service started."""

    arm: Any
    round: int
    propensity: float | None
    reason: ReasonAnswer | None
    restricted: bool | None
    """Whether only some of the arms could be chosen, as on a page of several; null until the log is read so far."""


class TotalsAnswer(Struct):
    """What is counted over all rounds."""

    decisions: int
    rewards: int
    mean: float | None
    """The mean reward."""
    waiting: int
    """Decisions whose reward has not come yet."""
    lost: int
    """Decisions that ended without a reward."""


class ArmHistory(Struct):
    """One arm, for each bucket."""

    arm: Any
    plays: list[int]
    """How often it was chosen."""
    mean: list[float | None]
    """What it paid on average; null where there is no reward."""


class HistoryAnswer(Struct):
    """What happened so far, in few buckets of as many rounds each. A reward counts where its decision was made."""

    rounds: int
    width: int
    """Rounds in a bucket."""
    behind: int
    """Events that were not read yet: ask again."""
    totals: TotalsAnswer
    last: LastAnswer | None
    plays: list[int]
    """Decisions, for each bucket; so are the following."""
    rewards: list[int]
    lost: list[int]
    mean: list[float | None]
    """The mean reward."""
    squares: list[float]
    """The sum of the squared differences to it: divided by one less than the rewards, it is their variance."""
    lowest_reward: float | None
    """The smallest possible reward, as the policy declares it; else 0 if no reward was negative; else null."""
    highest_reward: float | None
    """The largest possible reward, as the policy declares it; else 1 if all rewards were between 0 and 1; else null."""
    binary: bool
    """Whether a reward is 0 or 1, as for clicks; a guess from all rewards so far."""
    arms: list[ArmHistory]
    """The arms that were chosen most."""
    others: int
    """How many other arms were chosen."""
    other_plays: list[int]


class ArmRow(ReasonAnswer):
    """An arm, in the list of arms."""

    arm: Any
    retired: bool
    plays: int
    """How often it was chosen."""
    share: float | None
    """Its share of the newest decisions."""
    rewards: int
    """Rewards that were counted, in the log."""
    overall: float | None
    """The mean of all its rewards."""
    lost: int
    worn: bool
    """Whether it wears out: the mean of its window is below that of all its rewards by more than both widths."""
    spark: list[int]
    """How often it was chosen over time, in few steps."""


class ArmList(Struct):
    """Some of the arms."""

    arms: list[ArmRow]
    total: int
    matching: int
    """How many have the searched word in their name."""
    worn: int
    """How many of all wear out."""
    newest: int
    """Decisions that the shares are of."""
    low: float | None
    high: float | None
    """Where the means and the indices of all arms lie."""


class Archived(Struct):
    """A bandit that decides no more."""

    name: str
    archived: bool


class Health(Struct):
    """How the service is."""

    status: Literal["alive", "ready", "read-only"]


encode = msgspec.json.Encoder().encode
