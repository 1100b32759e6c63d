"""`Bandit`: a policy in a user's program, with named arms that come and go, late rewards, and a state that can be saved."""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal, Self, overload

from rotting.common.rules import nonnegative_int, positive_int
from rotting.engines.tiers import CompileMode
from rotting.errors import InvalidTypeError, brief
from rotting.live.arm_changes import ArmChanges
from rotting.live.arms import Arm
from rotting.live.bandit_state import MAX_PENDING, BanditState
from rotting.live.bandit_view import BanditView
from rotting.live.decisions import Decision, Outcome, id_of
from rotting.live.durations import Duration, seconds_in
from rotting.live.locks import Guard
from rotting.live.pages import Page
from rotting.live.past_rewards import NumberRule, UnknownArms, match_arms, read
from rotting.live.saved_state import restore
from rotting.policy import Policy

# Calls `tuple.__new__` directly: half the time of calling the class.
_decision: Callable[[type[Decision], tuple[object, ...]], Decision] = tuple.__new__


def _check_pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidTypeError("rewards", "be pairs of a decision and a reward", pair)
    return pair[0], pair[1]


class Bandit(ArmChanges[Arm]):
    """A policy that decides live: `decide` returns an arm, and `reward` reports what it paid.

        decision = bandit.decide()              # an arm, and an id
        bandit.reward(decision.id, 1.0)         # now or much later, in any order; sending it twice does no harm

    `pull` and `update` are the simple form, without ids, for rewards that arrive in the order of the decisions.

    **Report rewards of 0, too.** A decision without a reward stays pending; it does not count as 0. A program that reports only
    clicks teaches the bandit that all arms are equally good. `expire` ends decisions whose reward will never come, `cancel`
    those that were never shown.

    No horizon is needed, unless the policy is tuned to one: the state grows with the rounds. A round is a decision, or a reward
    without one (`learn` replays past rewards). Without a `reward_window`, the bandit learns each reward when it arrives, in any
    order. A policy that divides rewards by propensities uses the propensity of the decision that the reward belongs to.

    All methods may be called from several threads. A copy (`copy`, `deepcopy`, `pickle`) is an independent bandit that will
    draw the same random numbers. A forked process has its own copy, with its own random numbers.

    Args:
        policy: any policy except an oracle.
        arms: ids of the arms: strings, numbers, None or tuples of these, each once, at least one.
        seed: seed of the policy's own randomness.
        pending: "shrink": pending decisions shrink the width of an arm's index as if their rewards had arrived, so that no arm
            is chosen again and again before its first rewards arrive. "ignore": pending decisions change nothing.
            docs/delays.md states the exact rule, and measures both.
        max_pending: how many decisions can be pending. Each further decision expires the oldest one. The bandit also remembers
            the rewards of this many earlier decisions: a second reward for an older decision is "unknown".
        reward_window: how long a decision waits for its reward: "30min", "2h", "1d", a `timedelta`, or a number of seconds. The
            bandit then learns strictly in the order of the decisions: a decision settles when all older ones have settled and
            it has a reward, or when its window closes. So clicks are not learned ahead of the zeros that never arrive. Windows
            close when the bandit is next used, by a clock that does not jump. By default there is no window: the bandit learns
            each reward when it arrives, and expects one for every decision.
        missing: the reward of a decision whose window closes without one; None if such a decision does not count.
        probe: the share of the time for which each arm is paused at random, at most 0.5; None for no pauses. While an arm is
            paused, time passes but its number of pulls stays the same. So a log of the bandit can show whether arms wear out
            with their pulls or with time (`rotting.diagnose`), if many arms wear out a lot. Each pause lasts for a quarter of
            the age of the arm. docs/probe.md shows how rarely pauses give an answer, and what they cost.
        compile: "auto": the bandit decides immediately, interpreted, while a child process compiles the policy, and switches to
            machine code between two calls. "now": calls wait for the compiler, unless `warm_up` was called. "never": the bandit
            stays interpreted. Except with "never", machine code that is in the cache is used from the start. The decisions are
            the same, bit for bit. See docs/engines.md.

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
        arms: Iterable[Arm],
        seed: int = 0,
        pending: Literal["shrink", "ignore"] = "shrink",
        max_pending: int = MAX_PENDING,
        reward_window: Duration | None = None,
        missing: float | None = 0.0,
        probe: float | None = None,
        compile: CompileMode = "auto",
    ) -> None:
        state = BanditState.new(policy, arms, seed, pending, max_pending, reward_window, missing, probe, compile)
        super().__init__(Guard(state))

    @classmethod
    def holding(cls, guard: Guard[Arm], warn: Callable[[str], object] | None = None) -> Self:
        """Return a bandit that holds an existing state.

        Args:
            guard: the state, and the lock for it.
            warn: called with each warning; by default they are Python warnings.
        """
        bandit = cls.__new__(cls)
        BanditView.__init__(bandit, guard, warn)
        return bandit

    @classmethod
    def from_state(cls, state: object, compile: CompileMode = "auto") -> "Bandit":
        """Return the bandit that `get_state` saved; it decides as the original would.

        Args:
            state: what `get_state` returned.
            compile: as for `Bandit`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=[1, 2, 3], seed=5)
            >>> twin = Bandit.from_state(bandit.get_state())
            >>> [bandit.pull() for _ in range(9)] == [twin.pull() for _ in range(9)]
            True
        """
        return Bandit.holding(Guard(restore(state, compile)))

    def __reduce__(self) -> tuple[Callable[..., "Bandit"], tuple[object]]:
        return Bandit.from_state, (self.get_state(),)  # so that a copy, even in another process, is independent

    # --- Decisions ------------------------------------------------------------------------------------------------------------

    @overload
    def decide(
        self, arms: Iterable[Arm] | None = None, count: None = None, *, without: Iterable[Arm] | None = None
    ) -> Decision[Arm]: ...

    @overload
    def decide(
        self, arms: Iterable[Arm] | None = None, *, count: int, without: Iterable[Arm] | None = None
    ) -> tuple[Decision[Arm], ...]: ...

    def decide(
        self, arms: Iterable[Arm] | None = None, count: int | None = None, *, without: Iterable[Arm] | None = None
    ) -> Decision[Arm] | tuple[Decision[Arm], ...]:
        """Choose an arm now; report what it paid with `reward`.

        With a `count`, choose that many distinct arms for one page, best first, each among the arms that are not yet on the
        page. Each is a decision and a round of its own, with its own reward. Its propensity is the probability of the arm at
        its place, given the arms before it; the propensity of the page is their product.

        Args:
            arms: the arms available this time; all by default.
            count: how many arms to choose.
            without: arms that are not available this time, even if they are among `arms`. With many arms, leaving out a few is
                much faster than listing all others. Passing the same tuple again is faster, too.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> page = Bandit(Uniform(), arms=["a", "b", "c"]).decide(count=2)
            >>> [decision.propensity for decision in page], [decision.round for decision in page]
            ([0.3333333333333333, 0.5], [1, 2])
        """
        guard, state = self._guard, self._state
        if count is None:
            with guard.lock:
                # Most decisions are among all arms, and most bandits have no window: this saves them two calls.
                every_arm = arms is None and without is None and state.probe is None
                among = state.arms.slots if every_arm else state.available(arms, without)
                now = guard.clock() if state.window is None else guard.settle()
                entry, reason = state.decide(among, guard.ids.new(), True, now)
                arm = state.arms.names[entry.slot]
            if state.warnings:
                self._warn()
            return _decision(Decision, (entry.key, arm, entry.round, entry.propensity, reason))
        number = positive_int("count", count)
        made: list[Decision[Arm]] = []
        with guard.lock:
            available, now = self._available_for(number, arms, without), guard.settle()
            page = Page(available, state.pending)
            for _ in range(number):
                entry, reason = state.decide(page, guard.ids.new(), True, now)
                page.take(entry.slot)
                arm = state.arms.names[entry.slot]
                made.append(_decision(Decision, (entry.key, arm, entry.round, entry.propensity, reason)))
        if state.warnings:
            self._warn()
        return tuple(made)

    def pull(self, arms: Iterable[Arm] | None = None, *, without: Iterable[Arm] | None = None) -> Arm:
        """Return the arm to play now: the simple form of `decide`. Report what it paid with `update`, even if that is 0.

        Args:
            arms: the arms available this time; all by default.
            without: arms that are not available this time.
        """
        guard, state = self._guard, self._state
        with guard.lock:
            every_arm = arms is None and without is None and state.probe is None
            among = state.arms.slots if every_arm else state.available(arms, without)
            now = guard.clock() if state.window is None else guard.settle()
            entry, _ = state.decide(among, state.rounds + 1, False, now)
            arm = state.arms.names[entry.slot]
        if state.warnings:
            self._warn()
        return arm

    # --- Rewards --------------------------------------------------------------------------------------------------------------

    def reward(self, id: str | Decision, reward: float) -> Outcome:
        """Learn what a decision paid, and return the outcome. **Report rewards of 0, too**.

        "applied": the reward counts. "duplicate": the decision already has this reward; nothing changes. "conflict": the
        decision already has another reward, which stays. "unknown": there is no such decision, or its reward came too long ago
        to be remembered. "expired": the decision was cancelled or has expired, or its arm was forgotten.

        Args:
            id: the decision, or its id.
            reward: a finite number. True and False are refused, since they are rarely meant as a reward.
        """
        value, state = self._reward_rule.check(reward), self._state
        key = id if type(id) is str else id_of(id)
        with self._guard.lock:
            if state.window is not None:
                self._guard.settle()
            outcome = state.reward(key, value)
        if state.warnings:
            self._warn()
        return outcome

    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> list[Outcome]:
        """Learn what many decisions paid, in this order, and return the outcomes. If one reward is invalid, none is learned.

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
        pairs = [(id_of(id), self._reward_rule.check(reward)) for id, reward in map(_check_pair, rewards)]
        with self._guard.lock:
            self._guard.settle()
            outcomes = [self._state.reward(key, value) for key, value in pairs]
        if self._state.warnings:
            self._warn()
        return outcomes

    def update(self, arm: Arm, reward: float) -> None:
        """Learn that `arm` paid `reward`: the simple form of `reward`. **Report rewards of 0, too**.

        The reward goes to the oldest decision of this arm that has no reward yet. If there is no such decision, the reward
        counts as a round of its own. A retired arm can still be updated.

        If an arm was forgotten and a new arm has the same id, the next rewards belong to the pending pulls of the old arm, and
        nothing is learned from them; `expire` ends these pulls. If you reuse ids and rewards can get lost, use `decide` and
        `reward`, which tell the two arms apart.

        Args:
            arm: its id.
            reward: a finite number.
        """
        value, state = self._reward_rule.check(reward), self._state
        with self._guard.lock:
            slot = state.arms.known(arm, retired=True)
            if state.window is not None:
                self._guard.settle()
            arm, entry = state.arms.names[slot], state.ledger.first(slot)
            if arm in state.orphans.rounds:
                state.ignore(arm)
            elif entry is None:
                state.learn(arm, value)
            else:
                state.reward(entry.key, value)
        if state.warnings:
            self._warn()

    def learn(self, history: object, *, unknown: UnknownArms = "refuse", name: str | None = None) -> int:
        """Learn many past rewards at once, for a warm start, and return how many. If one row is invalid, none is learned.

        Each row is a round of its own, as if `update` were called for each row, in this order, while no decision is pending. A
        million rows take a second or less. Other threads wait while the rows are learned, but not while they are read.

        A policy that divides rewards by propensities, such as Exp3, needs a column `propensity`; other policies ignore it.

        Args:
            history: the oldest reward first: a data frame of pandas or Polars, or a mapping, with the columns `arm` and
                `reward`; pairs of an arm and a reward, or triples with a propensity; the path of a `.csv` or `.parquet` file
                with these columns or exported by `rotting log`; or the path of a store, whose rewards are learned in the order
                of their decisions, except for those of forgotten arms. Errors name the line of a CSV file, or the row of
                another table, counting from 0.
            unknown: what to do with arms that the bandit does not have: "refuse" the history, "add" them in the order in
                which they appear, or "skip" their rows.
            name: the name of the bandit in a log; it may be left out if there is only one.

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
        state, rule = self._state, self._reward_rule
        dividing = self.policy if state.learner.uses_propensity else None
        given = read(history, name, NumberRule(rule.check, rule.least, rule.most), dividing)
        with self._guard.lock:
            rows, new = match_arms(given, state.arms, unknown)
            state.check_rounds(rows.which.size)
            self._guard.settle()
            for arm in new:
                state.add(arm, None)
            state.learn_many(rows.arms, rows.which, rows.rewards, rows.propensities)
        return int(rows.which.size)

    # --- Decisions without a reward -------------------------------------------------------------------------------------------

    def cancel(self, id: str | Decision) -> Outcome:
        """End a decision that was never shown, as if it had not been made, except that its round stays counted.

        Returns "applied", "conflict" if it has a reward, "expired" if it has ended before, or "unknown".

        Args:
            id: the decision, or its id.
        """
        with self._guard.lock:
            return self._end(id_of(id), "cancelled", None)

    def _end(self, id: str, event: str, value: float | None) -> Outcome:
        self._guard.settle()
        entry = self._state.ledger.find_open(id)
        if entry is None:
            return self._state.ledger.outcome_if_not_open(id, math.nan)
        self._state.end(entry, event, value)
        return "applied"

    @overload
    def expire(self, id: str | Decision, *, missing: float | Literal["drop"] = "drop") -> Outcome: ...

    @overload
    def expire(self, *, older_than_rounds: int, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    @overload
    def expire(self, *, older_than: Duration, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    def expire(
        self,
        id: str | Decision | None = None,
        *,
        older_than_rounds: int | None = None,
        older_than: Duration | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> Outcome | int:
        """End a decision that was shown and will get no reward, or all decisions of a certain age that have none.

        A reward that arrives afterwards is "expired". Use `cancel` for a decision that was not shown: such a decision does not
        wear out its arm.

        Returns the outcome, as `cancel` does; given an age, the number of decisions that ended.

        Args:
            id: the decision, or its id; or
            older_than_rounds: end all decisions that were made more than this many rounds ago; or
            older_than: end all decisions that were made at least this long ago: "1h", a `timedelta`, or a number of seconds.
                Without a reward window, times are not saved: a decision that was restored counts as made when it was restored.
            missing: "drop" to learn nothing, or the reward to learn instead, such as 0.0 if no report means no click.
            limit: with an age, end at most this many decisions, the oldest first. To end many without keeping other threads
                waiting, repeat the call until fewer than `limit` have ended.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> old, new = bandit.decide(), bandit.decide()
            >>> bandit.expire(older_than_rounds=0, missing=0.0), bandit.reward(old.id, 1.0), bandit.explain()["a"].mean
            (1, 'expired', 0.0)
            >>> bandit.expire(older_than="1h")
            0
        """
        ages = [each for each in (older_than_rounds, older_than) if each is not None]
        if (id is not None) + len(ages) != 1:
            got = f"id={brief(id)}, older_than_rounds={brief(older_than_rounds)}, older_than={brief(older_than)}"
            raise InvalidTypeError("id, older_than_rounds or older_than", "be given, and only one", id, got=got)
        if limit is not None and not ages:
            raise InvalidTypeError("limit", "be given with an age only", limit, got=f"limit={brief(limit)}")
        most = None if limit is None else positive_int("limit", limit)
        value = None if isinstance(missing, str) and missing == "drop" else self._reward_rule.check(missing, "missing")
        with self._guard.lock:
            if id is not None:
                return self._end(id_of(id), "expired", value)
            return self._end_old(older_than_rounds, older_than, value, most)

    def _end_old(
        self, older_than_rounds: int | None, older_than: Duration | None, value: float | None, limit: int | None
    ) -> int:
        """End the decisions of an age that have no reward, at most `limit`; return their number."""
        guard, state = self._guard, self._state
        now = guard.settle()
        if older_than is not None:
            old = state.ledger.made_until(now - seconds_in("older_than", older_than), guard.opened)
        else:
            last = state.rounds - nonnegative_int("older_than_rounds", older_than_rounds) - 1
            old = state.ledger.until(last)
        ending = list(islice((entry for entry in old if entry.reward is None), limit))
        for entry in ending:
            state.end(entry, "expired", value)
        if older_than is None and (limit is None or len(ending) < limit):
            for arm in state.orphans.until(last):
                state.ignore(arm)
        return len(ending)
