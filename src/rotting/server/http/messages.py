"""The bodies and queries of requests, and the bodies of responses. Unknown fields, and strings for numbers, are refused."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rotting.live.arms import MAX_PRIOR_WEIGHT
from rotting.live.values import Outcome

MAX_EXPIRED = 10_000
"""The most decisions that one request can expire by their age."""
MAX_COUNT = 1_000
"""The most decisions or rewards in one request."""
NAME = r"^[A-Za-z0-9._~-]{1,100}\Z"
"""Names of bandits: characters that a URL carries without escapes. `.` and `..` are not allowed either."""
JsonArm = Any
"""An arm in a response. Bandits of a store may have other arms than strings; a tuple is a list in JSON."""

_Arm = Annotated[str, Meta(min_length=1, max_length=200)]
_Arms = Annotated[list[_Arm], Meta(min_length=1, max_length=100_000)]
_Id = Annotated[str, Meta(max_length=100)]  # "" is that of a fallback of the client, which no service knows
_Ids = Annotated[list[_Id], Meta(min_length=1, max_length=MAX_COUNT)]
_IdempotencyKey = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00]*\Z")]
_Reward = Annotated[float, Meta(ge=-1e100, le=1e100)]
_Duration = Annotated[str, Meta(max_length=50)] | Annotated[float, Meta(gt=0.0, le=1e12)]


# --- Bandits ------------------------------------------------------------------------------------------------------------------


class NewBandit(Struct, forbid_unknown_fields=True):
    """A bandit to create. Fields that are left out have the defaults of `rotting.Bandit`."""

    policy: Annotated[str, Meta(max_length=100)]
    """The name of a policy, as `rotting list policies` prints it, such as `eff-raw-ucb`."""
    arms: _Arms  # names of the arms, without duplicates
    params: dict[str, float | str] = {}  # parameters of the policy
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    pending: Literal["shrink", "ignore"] = "shrink"  # whether pending decisions shrink the width of an arm's index
    max_pending: Annotated[int, Meta(ge=1, le=100_000_000)] | None = None
    """The most decisions that may be pending; each further decision expires the oldest one. By default, there is no limit with
    a reward window, and 10,000 without."""
    reward_window: _Duration | None = None
    """How long a decision waits for its reward, such as `30min`, `2h`, `1d`, or a number of seconds; null for no window."""
    missing: _Reward | None = 0.0
    """The reward of a decision whose window closes without one, 0 by default; null if such a decision does not count."""
    holdout: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    """The share of decisions that draw each available arm with the same probability; 0 by default."""
    keep: _Duration | None = None
    """How long events are kept, such as `90d`; older ones are replaced by a snapshot. For ever by default."""


_Shares = Annotated[dict[_Arm, Annotated[float, Meta(gt=0.0, le=1.0)]], Meta(max_length=100_000)]
_Reason = Annotated[str, Meta(max_length=1_000)]


class Change(Struct, forbid_unknown_fields=True):
    """Settings of a bandit that are changed; those that are left out stay. Repeating the request changes nothing.

    Another policy, or other parameters, learn anew from the events that the log keeps; other requests go on meanwhile.
    """

    policy: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    params: dict[str, float | str] | UnsetType = UNSET
    """Parameters of the policy: of a new `policy`, or those of the present one that change."""
    reward_window: _Duration | UnsetType | None = UNSET
    missing: _Reward | UnsetType | None = UNSET
    holdout: Annotated[float, Meta(ge=0.0, lt=1.0)] | UnsetType = UNSET
    max_pending: Annotated[int, Meta(ge=1, le=100_000_000)] | UnsetType | None = UNSET
    caps: _Shares | UnsetType = UNSET  # the most of the decisions of the last hour that an arm gets, by arm
    floors: _Shares | UnsetType = UNSET  # the least of them
    paused: Annotated[list[_Arm], Meta(max_length=100_000)] | UnsetType = UNSET  # all arms that are paused
    reason: _Reason = ""  # why, for the log


class PauseRequest(Struct, forbid_unknown_fields=True):
    """Why an arm is paused. The body may be left out."""

    reason: _Reason = ""


class PastReward(Struct, forbid_unknown_fields=True):
    """A reward without a decision; a policy that divides rewards by propensities needs its propensity."""

    arm: _Arm
    reward: _Reward
    propensity: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None


class LearnRequest(Struct, forbid_unknown_fields=True):
    """Past rewards to learn, the oldest first. If one of them is refused, none is learned."""

    rewards: Annotated[list[PastReward], Meta(min_length=1, max_length=MAX_COUNT)]
    unknown: Literal["refuse", "add", "skip"] = "refuse"  # what to do with arms that the bandit does not have
    idempotency_key: _IdempotencyKey | None = None  # repeating a request with the same key learns nothing again


class LearnResponse(Struct):
    """How many rewards were learned."""

    learned: int


class UpliftResponse(Struct):
    """What the policy earns above uniform choices per decision, with a 95 % interval that may be looked at any time."""

    difference: float | None  # null without rewards on both sides
    low: float
    high: float
    policy: float | None  # the mean reward of the decisions of the policy
    uniform: float | None  # and of those that were held out
    rewards: tuple[int, int]  # the number of rewards on both sides
    verdict: str  # `the policy earns more`, `the policy earns less` or `too early to tell`


class BanditResponse(Struct):
    """A bandit."""

    name: str
    policy: str
    params: dict[str, float | str]
    seed: int
    pending_rule: Literal["shrink", "ignore"]
    max_pending: int | None  # null if it is not set
    archived: bool
    rounds: int
    pending: int
    arms: list[JsonArm]  # the arms that can be chosen
    retired: list[JsonArm]  # the arms that were removed but whose rewards are kept
    reward_window: float | None  # in seconds; null if rewards are learned when they come
    missing: float | None  # the reward of a decision whose window closes without one; null if there is none
    holdout: float  # the share of decisions that are taken uniformly
    caps: dict[str, float]  # the most of the decisions of the last hour that an arm gets, by arm
    floors: dict[str, float]  # the least of them
    paused: list[JsonArm]  # arms that are not chosen until they are resumed
    most_pending: int | None  # how many decisions can be pending with these settings; null if there is no limit
    draws: bool  # whether the policy draws arms at random
    keep: float | None  # for how many seconds events are kept; null for ever


class BanditRow(Struct):
    """A bandit in the list of all bandits."""

    name: str
    policy: str
    params: dict[str, float | str]
    archived: bool
    last_hour: int | None  # decisions of the last hour; this and the following are null until the log has been read
    mean: float | None  # the mean of the newest rewards
    worn: int | None  # how many arms wear out


class BanditsResponse(Struct):
    """Bandits in the order of their names."""

    bandits: list[BanditRow]
    next: str | None  # the `after` of the next page; null on the last page


class DeletedResponse(Struct):
    """A bandit that is gone with its log."""

    name: str
    deleted: bool


# --- Decisions and rewards ----------------------------------------------------------------------------------------------------


class DecisionRequest(Struct, forbid_unknown_fields=True):
    """What to decide. Every field may be left out, and so may the body."""

    count: Annotated[int, Meta(ge=1, le=MAX_COUNT)] = 1  # how many different arms to choose
    arms: _Arms | None = None  # the arms to choose from; all by default
    without: Annotated[list[_Arm], Meta(max_length=100_000)] | None = None  # arms not to choose
    idempotency_key: _IdempotencyKey | None = None
    """Repeating a request with the same key returns the same decisions, for a day; another request with it is refused."""
    unit: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00]*\Z")] | None = None
    """What the decision is for, such as a country or a user; the log keeps it."""
    dry_run: bool = False  # return what would be decided and change nothing; the ids are null


class ArmNumbers(Struct):
    """Why an arm was chosen. Numbers that are infinite, or that the policy does not compute, are null."""

    index: float | None
    mean: float | None
    window: int
    width: float | None
    pulls: int  # rewards so far
    pending: int  # decisions without a reward
    rule: str  # what overruled the policy: `holdout`, `floor` or `cap`; in a list of arms also `paused`; else empty


class MadeDecision(Struct):
    """A decision that waits for its reward."""

    id: str | None  # identifies the decision when its reward is sent; null after a dry run
    arm: JsonArm
    propensity: float  # the probability with which this arm was chosen
    round: int
    reason: ArmNumbers


class DecisionsResponse(Struct):
    """Decisions, best first."""

    decisions: list[MadeDecision]


class Reward(Struct, forbid_unknown_fields=True):
    """The reward of a decision. A reward of 0 must be reported too."""

    id: _Id
    reward: _Reward


Rewards = Annotated[list[Reward], Meta(min_length=1, max_length=MAX_COUNT)]


class DecisionOutcome(Struct):
    """The outcome for one reward, or for one decision that was cancelled or expired."""

    id: str
    outcome: Outcome


class ResultsResponse(Struct):
    """Outcomes in the order of the request."""

    results: list[DecisionOutcome]


class CancellationRequest(Struct, forbid_unknown_fields=True):
    """Decisions that were never shown: those with these `ids`, or those made with these idempotency `keys`."""

    ids: _Ids | None = None
    keys: Annotated[list[_IdempotencyKey], Meta(min_length=1, max_length=MAX_COUNT)] | None = None
    """No decision can be made with these keys afterwards."""


class ExpirationRequest(Struct, forbid_unknown_fields=True):
    """Decisions that were shown and will get no reward: those with these `ids`, or all of a certain age."""

    ids: _Ids | None = None
    older_than_rounds: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    missing: Literal["drop"] | _Reward = "drop"  # `drop` learns nothing; a number is learned as the reward
    limit: Annotated[int, Meta(ge=1, le=MAX_EXPIRED)] = MAX_EXPIRED  # the most decisions to expire by age, the oldest first
    older_than: _Duration | None = None  # an age such as `1h`, or a number of seconds


class ExpirationResponse(Struct):
    """Outcomes for the ids of the request, and how many decisions expired."""

    results: list[DecisionOutcome]
    expired: int
    more: bool = False  # whether decisions of this age may be left: send the same request again


# --- Arms ---------------------------------------------------------------------------------------------------------------------


class ArmRequest(Struct, forbid_unknown_fields=True):
    """How to add an arm. The body may be left out."""

    resume: bool = False  # choose a retired arm again, with the rewards it had
    prior: tuple[float, Annotated[int, Meta(ge=1, le=MAX_PRIOR_WEIGHT)]] | Literal["pooled"] | None = None
    """What to assume about a new arm: a mean and a weight."""


class ArmsResponse(Struct):
    """The arms after a change."""

    arms: list[JsonArm]
    retired: list[JsonArm]


class ArmReason(ArmNumbers):
    """The numbers of one arm for the next decision."""

    arm: JsonArm


class ExplainResponse(Struct):
    """The numbers of every arm for the next decision."""

    round: int  # the next round
    arms: list[ArmReason]


# --- The log and the dashboard ------------------------------------------------------------------------------------------------


class LogEvent(Struct):
    """An event of the log."""

    number: int
    time: int  # in microseconds since 1970
    caller: str  # the name of the token; "" without tokens
    payload: dict[str, Any]
    """The event. A decision without `propensity` was certain, and one without `arms` and `without` could choose any arm."""


class LogResponse(Struct):
    """Events of a bandit, in order."""

    events: list[LogEvent]
    next: int  # the `after` of the next page


class LastDecision(Struct):
    """The latest decision, and why this arm was chosen; null if the log has not been read that far."""

    arm: JsonArm
    round: int
    propensity: float | None
    reason: ArmNumbers | None
    restricted: bool | None
    """Whether only some arms could be chosen, as on a page of several; null until the log has been read that far."""


class Totals(Struct):
    """Counts over all rounds."""

    decisions: int
    rewards: int  # decisions that have settled with a reward
    mean: float | None  # the mean reward of these
    pending: int  # decisions that have not settled
    lost: int  # decisions that ended without a reward


class ArmHistory(Struct):
    """One arm, for each bucket."""

    arm: JsonArm
    plays: list[int]  # how often the arm was chosen
    rewards: list[int]  # how many of these have settled with a reward
    mean: list[float | None]  # its mean reward; null where it has no reward


class HistoryResponse(Struct):
    """Choices and rewards over time, in buckets of equally many rounds.

    A reward counts in the bucket of its decision, from when the decision settles: with a reward window when all older ones have
    settled and it has a reward, or when its window closes. What a bucket has neither rewarded nor lost is pending.
    """

    rounds: int
    width: int  # rounds in a bucket
    behind: int  # the number of events that were not read yet; unless it is 0, send the request again
    totals: Totals
    last: LastDecision | None
    plays: list[int]  # decisions, for each bucket; the following lists have one number for each bucket too
    rewards: list[int]
    lost: list[int]
    mean: list[float | None]  # the mean reward
    squares: list[float]
    """The sum of squared differences from the mean; divided by the number of rewards minus one, it is their variance."""
    lowest_reward: float | None
    """The smallest possible reward, as the policy declares it; otherwise 0 if no reward was negative; otherwise null."""
    highest_reward: float | None
    """The largest possible reward, as the policy declares it; otherwise 1 if all rewards were in [0, 1]; otherwise null."""
    binary: bool  # whether all rewards so far were 0 or 1, as for clicks
    arms: list[ArmHistory]  # the arms that were chosen most
    others: int  # how many other arms were chosen
    other_plays: list[int]


class ArmRow(ArmNumbers):
    """An arm in the list of arms."""

    arm: JsonArm
    retired: bool
    plays: int  # how often the arm was chosen
    share: float | None  # its share of the latest decisions
    rewards: int  # its rewards in the log
    overall: float | None  # the mean of all its rewards
    lost: int
    worn: bool  # whether it wears out, as the service found in a sample of the decisions some minutes ago
    lasts: str | None  # how long it lasts if it wears out, or why that is not known
    spark: list[float]  # its share of the decisions over time, in at most 40 steps


class ArmListResponse(Struct):
    """A page of the list of arms."""

    arms: list[ArmRow]
    total: int
    matching: int  # how many arms have the search text in their name
    worn: int  # how many of all arms wear out
    newest: int  # how many decisions the shares are computed from
    low: float | None  # the smallest mean or index of all arms
    high: float | None  # the largest mean or index of all arms


# --- Queries ------------------------------------------------------------------------------------------------------------------


class ListQuery(Struct, forbid_unknown_fields=True):
    """Which bandits to list."""

    after: Annotated[str, Meta(pattern=r"^[^\x00]*\Z", description="Only names after this one.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class LogQuery(Struct, forbid_unknown_fields=True):
    """Which events to read."""

    after: Annotated[int, Meta(ge=0, le=2**53, description="Only events after this number.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="How many at most.")] = 100


class DeleteArmQuery(Struct, forbid_unknown_fields=True):
    """How to remove an arm."""

    keep: Annotated[bool, Meta(description="Keep the rewards of the arm, for `resume`.")] = False


class HistoryQuery(Struct, forbid_unknown_fields=True):
    """How many arms the history lists."""

    top: Annotated[int, Meta(ge=1, le=20, description="How many arms to list one by one.")] = 8


class UpliftQuery(Struct, forbid_unknown_fields=True):
    """The range of rewards."""

    low: Annotated[float | None, Meta(description="The smallest possible reward; given together with `high`.")] = None
    high: Annotated[float | None, Meta(description="The largest; the range is by default the policy's, or 0 to 1.")] = None


ArmOrder = Literal["plays", "share", "index", "overall", "worn", "name"]


class ArmsQuery(Struct, forbid_unknown_fields=True):
    """Which arms to list."""

    search: Annotated[str, Meta(max_length=200, description="Only arms with this text in their name, in any case.")] = ""
    order: Annotated[ArmOrder, Meta(description="The sort order: largest first, worn arms first, or by name.")] = "plays"
    offset: Annotated[int, Meta(ge=0, le=2**53, description="How many to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.")] = 25


class EventsQuery(Struct, forbid_unknown_fields=True):
    """Which events to watch."""

    bandit: Annotated[str, Meta(pattern=NAME, description="The bandit whose events to watch.")]


# --- Health -------------------------------------------------------------------------------------------------------------------


class HealthResponse(Struct):
    """The state of the service."""

    status: Literal["alive", "ready"]


encode = msgspec.json.Encoder().encode
