"""A policy inside a user's program: named arms that come and go, rewards that come late, twice or never, a state to save."""

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Literal, Self, overload

from rotting.common.rules import nonnegative_int, positive_int
from rotting.errors import InvalidTypeError, brief
from rotting.live.arm_changes import ArmChanges
from rotting.live.decisions import Decision, Outcome, id_of
from rotting.live.history import Numbers, Unknown, read, settle_arms
from rotting.live.pages import Page
from rotting.live.processes import Guard
from rotting.live.saved_state import restore
from rotting.live.state import MAX_PENDING, BanditState
from rotting.live.view import BanditView
from rotting.policy import Policy

# Calls `tuple.__new__` directly: half the time of calling the class.
_decision: Callable[[type[Decision], tuple[object, ...]], Decision] = tuple.__new__


def _check_pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidTypeError("rewards", "be pairs of a decision and a reward", pair)
    return pair[0], pair[1]


class Bandit(ArmChanges):
    """A policy that decides live: `decide` on an arm, and `reward` the decision.

        decision = bandit.decide()              # an arm, and an id
        bandit.reward(decision.id, 1.0)         # now or much later, in any order; twice does no harm

    `pull` and `update` are the simple form of the same, for rewards that come one after the other.

    **Report rewards of 0, too.** A decision without a reward stays pending; it does not count as 0. A program that reports only
    clicks teaches the bandit that all arms are equally good. `expire` ends decisions whose reward will never come, `cancel`
    those that were never shown.

    No horizon is needed, unless the policy is tuned to one: the state grows with the rounds. A round is a decision, or an
    update without one (`learn` replays past rewards). The rewards of one arm are learned in the order of its decisions. A
    reward that comes early counts at once, and takes its place when those before it have come; a policy that divides by the
    probability of the draw learns each reward when it comes, with the probability of its own decision. All methods may be
    called from several threads.

    A copy (`copy`, `deepcopy`, `pickle`) is an independent bandit, with the same random numbers to come. In a forked process a
    bandit goes on by itself, with its own random numbers.

    Args:
        policy: any policy except an oracle.
        arms: ids of the arms: strings, numbers, None or tuples of these, each once, at least one.
        seed: seed of the policy's own randomness.
        pending: "shrink": pending decisions shrink the width of an arm's index as if their rewards had come, except for the
            leader of the arms that compete, once it has as many rewards; so no arm is chosen again and again before its first
            rewards come. "ignore": pending decisions do not count. docs/delays.md has the rule, and what either costs.
        max_pending: the most decisions that are pending, or whose reward waits for that of an older decision of the same arm.
            One more expires the oldest, without a reward. As many rewards are remembered; a second reward for an older id is
            `unknown`.

    Example:
        >>> from rotting.policies.eff_raw_ucb import EffRAWUCB
        >>> bandit = Bandit(EffRAWUCB(sigma=0.5), arms=["a", "b"], seed=0)
        >>> for _ in range(10):
        ...     decision = bandit.decide()
        ...     outcome = bandit.reward(decision.id, 1.0 if decision.arm == "a" else 0.0)
        >>> bandit.decide().arm
        'a'
        >>> bandit.reward(decision.id, 1.0), bandit.reward(decision.id, 0.5), bandit.reward("?", 1.0)
        ('duplicate', 'conflict', 'unknown')
        >>> bandit.add_arm("c")
        >>> bandit.decide().arm
        'c'
    """

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[Hashable],
        seed: int = 0,
        pending: Literal["shrink", "ignore"] = "shrink",
        max_pending: int = MAX_PENDING,
    ) -> None:
        super().__init__(Guard(BanditState.new(policy, arms, seed, pending, max_pending)))

    @classmethod
    def holding(cls, guard: Guard, warn: Callable[[str], object] | None = None) -> Self:
        """Return a bandit over a state that was made or restored before.

        Args:
            guard: the state, and the lock for it.
            warn: called with each warning; by default they are Python warnings.
        """
        bandit = cls.__new__(cls)
        BanditView.__init__(bandit, guard, warn)
        return bandit

    @classmethod
    def from_state(cls, state: Any) -> "Bandit":
        """Return the bandit that `get_state` described; it decides as the original would have.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=[1, 2, 3], seed=5)
            >>> twin = Bandit.from_state(bandit.get_state())
            >>> [bandit.pull() for _ in range(9)] == [twin.pull() for _ in range(9)]
            True
        """
        return Bandit.holding(Guard(restore(state)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Bandit.from_state, (self.get_state(),)  # so a copy, also in another process, is an independent bandit

    # --- Decisions --------------------------------------------------------------------------------------------------------

    @overload
    def decide(
        self, arms: Iterable[Hashable] | None = None, count: None = None, *, without: Iterable[Hashable] | None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, arms: Iterable[Hashable] | None = None, *, count: int, without: Iterable[Hashable] | None = None
    ) -> tuple[Decision, ...]: ...

    def decide(
        self,
        arms: Iterable[Hashable] | None = None,
        count: int | None = None,
        *,
        without: Iterable[Hashable] | None = None,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm now; `reward` answers the decision later.

        With a `count`, choose so many distinct arms for one page, best first: one after the other, each without those before
        it. Each is a decision and a round of its own, with its own reward. Its propensity is the probability of that arm at
        that place, given those before it; the propensity of the page is their product.

        Args:
            arms: the arms available this time; all by default.
            count: how many arms to choose.
            without: arms that are not available this time, also if they are among `arms`. With many arms, leaving out a few is
                much faster than listing all others. A tuple that is passed again is not looked up again.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> page = Bandit(Uniform(), arms=["a", "b", "c"]).decide(count=2)
            >>> [decision.propensity for decision in page], [decision.round for decision in page]
            ([0.3333333333333333, 0.5], [1, 2])
        """
        guard, state = self._guard, self._state
        if count is None:
            with guard.lock:
                among = state.arms.slots if arms is without is None else state.arms.available(arms, without)
                if state.rounds >= state.max_rounds:
                    state.refuse_round(state.rounds + 1)
                entry, reason = state.decide(among, guard.ids.new(), True)
                arm = state.arms.names[entry.slot]
            if state.warnings:
                self._warn()
            return _decision(Decision, (entry.key, arm, entry.round, entry.propensity, reason))
        number = positive_int("count", count)
        made: list[Decision] = []
        with guard.lock:
            page = Page(self._available_for(number, arms, without), state.pending)
            for _ in range(number):
                entry, reason = state.decide(page, guard.ids.new(), True)
                page.take(entry.slot)
                arm = state.arms.names[entry.slot]
                made.append(Decision(entry.key, arm, entry.round, entry.propensity, reason))  # type: ignore[arg-type]
        if state.warnings:
            self._warn()
        return tuple(made)

    def pull(self, arms: Iterable[Hashable] | None = None, *, without: Iterable[Hashable] | None = None) -> Hashable:
        """Return the arm to play now: the simple form of `decide`, to be answered with `update`.

        **Report rewards of 0, too**, as for `decide`.

        Args:
            arms: the arms available this time; all by default.
            without: arms that are not available this time.
        """
        state = self._state
        with self._guard.lock:
            among = state.arms.slots if arms is without is None else state.arms.available(arms, without)
            if state.rounds >= state.max_rounds:
                state.refuse_round(state.rounds + 1)
            entry, _ = state.decide(among, state.rounds + 1, False)
            arm = state.arms.names[entry.slot]
        if state.warnings:
            self._warn()
        return arm

    # --- Rewards ----------------------------------------------------------------------------------------------------------

    def reward(self, id: str | Decision, reward: float) -> Outcome:  # noqa: A002 - as in `Decision`
        """Learn what a decision paid, and return the outcome.

        "applied": the reward counts. "duplicate": the decision already has this reward; nothing changes. "conflict": the
        decision already has another reward, which stays. "unknown": there is no such decision, or its reward came too long ago
        to be remembered. "expired": the decision was cancelled or has expired, or its arm was forgotten.

        **Report rewards of 0, too**: a decision without a reward stays pending.

        Args:
            id: the decision, or its id.
            reward: a finite number. True and False are refused: they are rarely meant as a reward.
        """
        rule, state = self._rewards, self._state
        value = reward if type(reward) is float and rule.least <= reward <= rule.most else rule.check(reward)
        key = id if type(id) is str else id_of(id)
        with self._guard.lock:
            outcome = state.reward(key, value)
        if state.warnings:
            self._warn()
        return outcome

    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> list[Outcome]:
        """Learn what many decisions paid, in this order, and return the outcomes. If one reward is refused, none is learned.

        Args:
            rewards: pairs of a decision, or its id, and a reward, as for `reward`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=["a", "b", "c"])
            >>> bandit.reward_many([(decision, 1.0) for decision in bandit.decide(count=2)])
            ['applied', 'applied']
        """
        if not isinstance(rewards, Iterable):
            raise InvalidTypeError("rewards", "be pairs of a decision and a reward", rewards)
        pairs = [(id_of(id), self._rewards.check(reward)) for id, reward in map(_check_pair, rewards)]  # noqa: A001
        with self._guard.lock:
            outcomes = [self._state.reward(key, value) for key, value in pairs]
        if self._state.warnings:
            self._warn()
        return outcomes

    def update(self, arm: Hashable, reward: float) -> None:
        """Learn that `arm` paid `reward`: the simple form of `reward`.

        The reward answers the oldest decision of the arm that has none; if there is no such decision, it is a round of its own.
        A retired arm can still be updated. **Report rewards of 0, too.**

        If an arm was forgotten and a new arm has its id, the rewards of the old arm's pulls come first: nothing is learned from
        them. `expire` stops waiting for them. Where ids are used again and rewards get lost, use `decide` and `reward`, which
        tell the arms apart.

        Args:
            arm: its id.
            reward: a finite number.
        """
        rule, state = self._rewards, self._state
        value = reward if type(reward) is float and rule.least <= reward <= rule.most else rule.check(reward)
        with self._guard.lock:
            slot = state.arms.known(arm, retired=True)
            arm, entry = state.arms.names[slot], state.ledger.first(slot)
            if arm in state.orphans:
                state.ignore(arm)
            elif entry is None:
                state.learn(arm, value)
            else:
                state.reward(entry.key, value)
        if state.warnings:
            self._warn()

    def learn(self, history: object, *, unknown: Unknown = "refuse", name: str | None = None) -> int:
        """Learn many past rewards at once, for a warm start, and return how many. If one row is refused, none is learned.

        This is as if `update` were called for each row, in this order, while no decision is open: each row is a round of its
        own, and answers no open decision. A million rows take a second or less; other threads wait while the rows are learned,
        but not while they are read.

        A policy that divides rewards by the probability of their draw, such as Exp3, must know that probability: the history
        needs a column `propensity`, which other policies do not read.

        Args:
            history: a data frame of pandas or Polars, or a mapping, with the columns `arm` and `reward`; pairs of an arm and a
                reward, or triples with a propensity; the path of such a table in a `.csv` or `.parquet` file, also as
                `rotting log` exports it; or the path of a store, whose rewards are learned in the order of their decisions,
                except for those of forgotten arms. The oldest come first; errors count rows from 0.
            unknown: what to do with arms that the bandit does not have: "refuse" the history, "add" them in the order in
                which they appear, or "skip" their rows.
            name: which bandit of a log; it may be left out if there is only one.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> bandit.learn({"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 0.5]})
            3
            >>> bandit.learn([("c", 1.0), ("a", 0.0)], unknown="add")
            2
            >>> bandit.explain()["a"].mean, bandit.arms, bandit.rounds
            (0.5, ('a', 'b', 'c'), 5)
        """
        state = self._state
        rule = Numbers(self._rewards.check, self._rewards.least, self._rewards.most)
        given = read(history, name, rule, repr(self.policy) if state.learner.weighs else "")
        with self._guard.lock:
            rows, new = settle_arms(given, state.arms, unknown)
            if state.rounds + rows.which.size > state.max_rounds:
                state.refuse_round(state.rounds + rows.which.size)
            for arm in new:
                state.add(arm, None)
            state.learn_many(rows.arms, rows.which, rows.rewards, rows.propensities)
        return int(rows.which.size)

    # --- Decisions without a reward ---------------------------------------------------------------------------------------

    def cancel(self, id: str | Decision) -> Outcome:  # noqa: A002
        """End a decision that was never shown, as if it had not been made; only the number of its round stays used.

        Returns "applied"; or "conflict" if it was rewarded, "expired" if it had ended before, "unknown" as `reward` does.

        Args:
            id: the decision, or its id.
        """
        with self._guard.lock:
            return self._end(id_of(id), "cancelled", None)

    def _end(self, id: str, event: str, value: float | None) -> Outcome:  # noqa: A002
        entry = self._state.ledger.find_open(id)
        if entry is None:
            return self._state.ledger.remembered(id, math.nan)
        self._state.end(entry, event, value)
        return "applied"

    @overload
    def expire(self, id: str | Decision, *, missing: float | Literal["drop"] = "drop") -> Outcome: ...

    @overload
    def expire(self, *, older_than_rounds: int, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    def expire(
        self,
        id: str | Decision | None = None,  # noqa: A002
        *,
        older_than_rounds: int | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> Outcome | int:
        """End a decision that was shown and will get no reward, or all decisions that are older than some rounds.

        A reward that comes afterwards is `expired`. An arm that wears out with its pulls has worn: its next reward is that of
        one pull later, whether this one is learned or not.

        Returns the outcome, as `cancel` does; with `older_than_rounds`, how many decisions ended.

        Args:
            id: the decision, or its id; or
            older_than_rounds: end all decisions that were made more than so many rounds ago.
            missing: "drop": learn nothing; or the reward to learn instead, such as 0.0 if no answer means no click.
            limit: with `older_than_rounds`, end at most this many decisions, the oldest first. To end many without keeping
                other threads waiting, repeat the call until fewer than `limit` have ended.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> old, new = bandit.decide(), bandit.decide()
            >>> bandit.expire(older_than_rounds=0, missing=0.0), bandit.reward(old.id, 1.0), bandit.explain()["a"].mean
            (1, 'expired', 0.0)
        """
        if (id is None) == (older_than_rounds is None):
            both = f"id={brief(id)}, older_than_rounds={brief(older_than_rounds)}"
            raise InvalidTypeError("id or older_than_rounds", "be given, and not both", (id, older_than_rounds), got=both)
        if limit is not None and older_than_rounds is None:
            raise InvalidTypeError("limit", "be given with older_than_rounds only", limit, got=f"limit={brief(limit)}")
        most = None if limit is None else positive_int("limit", limit)
        value = None if isinstance(missing, str) and missing == "drop" else self._rewards.check(missing, "missing")
        state = self._state
        with self._guard.lock:
            if id is not None:
                return self._end(id_of(id), "expired", value)
            last = state.rounds - nonnegative_int("older_than_rounds", older_than_rounds) - 1
            old = state.ledger.open_until(last, most)
            for entry in old:
                state.end(entry, "expired", value)
            if most is None or len(old) < most:
                for arm in state.orphans.until(last):
                    state.ignore(arm)
            return len(old)
