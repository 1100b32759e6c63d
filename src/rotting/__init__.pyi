# Written by tools/make_stubs.py from the code; `make stubs` writes it anew.

from typing import Final, Literal, Self

from rotting import adapters as adapters
from rotting import datasets as datasets
from rotting import display as display
from rotting import errors as errors
from rotting import kit as kit
from rotting import problems as problems
from rotting import registry as registry
from rotting import theory as theory
from rotting.common.version import __version__ as __version__
from rotting.errors import RewardsWarning as RewardsWarning
from rotting.live.bandit import Bandit as Bandit
from rotting.live.checks import check_policy as check_policy
from rotting.live.decisions import Decision as Decision
from rotting.live.noise_checks import check_noise as check_noise
from rotting.parts.doubling import doubling as doubling
from rotting.policy import Kernel as Kernel
from rotting.policy import Policy as Policy
from rotting.policy import Reason as Reason
from rotting.problems import Problem as Problem
from rotting.problems import ProblemFamily as ProblemFamily
from rotting.problems.noise import Bernoulli as Bernoulli
from rotting.problems.noise import Beta as Beta
from rotting.problems.noise import Binomial as Binomial
from rotting.problems.noise import ByArm as ByArm
from rotting.problems.noise import Contaminated as Contaminated
from rotting.problems.noise import Gaussian as Gaussian
from rotting.problems.noise import Laplace as Laplace
from rotting.problems.noise import LogNormal as LogNormal
from rotting.problems.noise import Noiseless as Noiseless
from rotting.problems.noise import Poisson as Poisson
from rotting.problems.noise import Student as Student
from rotting.registry import list_policies as list_policies
from rotting.registry import make as make
from rotting.service.client import AsyncClient as AsyncClient
from rotting.service.client import Client as Client
from rotting.simulation.plan import Simulation as Simulation
from rotting.simulation.play import play as play
from rotting.simulation.result import Result as Result
from rotting.simulation.simulate import simulate as simulate
from rotting.simulation.simulate import simulate_all as simulate_all
from rotting.simulation.study import Study as Study
from rotting.simulation.sweep import grid as grid
from rotting.simulation.sweep import sweep as sweep
from rotting.simulation.trajectory import Trajectory as Trajectory
from rotting.store.durable import open as open

__all__ = [
    "AdSwitch",
    "AsyncClient",
    "Bandit",
    "Bernoulli",
    "Beta",
    "Binomial",
    "ByArm",
    "CUSUMUCB",
    "Client",
    "Contaminated",
    "DUCB",
    "Decision",
    "DiscountedTS",
    "EffFEWA",
    "EffRAWUCB",
    "EffRAWUCBpp",
    "Exp3",
    "Exp3S",
    "FEWA",
    "GLRKLUCB",
    "GLRUCB",
    "Gaussian",
    "GreedyOracle",
    "KLUCB",
    "Kernel",
    "Laplace",
    "LogNormal",
    "MUCB",
    "Noiseless",
    "Poisson",
    "Policy",
    "Problem",
    "ProblemFamily",
    "RAWKLUCB",
    "RAWUCB",
    "RAWUCBpp",
    "Reason",
    "Result",
    "RewardsWarning",
    "Rexp3",
    "SWA",
    "SWUCB",
    "Simulation",
    "SlidingWindowTS",
    "Student",
    "Study",
    "ThompsonSampling",
    "Trajectory",
    "UCB1",
    "Uniform",
    "WSWA",
    "__version__",
    "adapters",
    "check_noise",
    "check_policy",
    "datasets",
    "display",
    "doubling",
    "errors",
    "grid",
    "kit",
    "list_policies",
    "make",
    "open",
    "play",
    "problems",
    "registry",
    "simulate",
    "simulate_all",
    "sweep",
    "theory",
]

class AdSwitch(Policy):
    """Filter the arms, check the bad ones now and then, and start afresh at every change: minimax without knowing the changes.

    In episode l, each round plays the least recently played of the good arms and of the bad arms under check. With
    `mean_i[s, t]` the mean of arm i's `n_i[s, t]` samples from rounds s to t of the episode:

    - a good arm is evicted when `max_j mean_j[s, t] - mean_i[s, t] > sqrt(C1 ln(T) / (n_i[s, t] - 1))` for some s; that
      difference is its gap, `mean_i[s, t]` its mean (of the earliest such s);
    - in each round, for each bad arm and i = 1, 2, ... while `2^-i >= gap / 16`, with probability
      `2^-i sqrt(l / (K T ln T))` a check begins: `ceil(2^(2i + 1) ln T)` samples of it;
    - a new episode begins when the means of two runs of a good arm's samples differ by more than
      `sqrt(2 ln(T) / n_1) + sqrt(2 ln(T) / n_2)`, or the mean of a bad arm's last n samples differs from its mean by more than
      `gap / 4 + sqrt(2 ln(T) / n)`.

    Args:
        horizon: number of rounds T, 2 or more.
        C1: width of the eviction test. The theory asks for more than `8 (2n - 1) / n` for every n, so for 16: then an arm that
            2n samples evict is behind by more than twice the radius `sqrt(2 ln(T) / n)` of n samples. 16.1 is just above.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The radius `sqrt(2 ln(T) / n)` fails for a mean of n samples with a chance of at most `2 / T^4` (Hoeffding). A check takes
    the samples at which the radius is 2^-i, the size of the change it looks for. By its probability, the checks of all bad arms
    cost `K 2^-i sqrt(l / (K T ln T)) 2^(2i + 1) ln T` samples a round, times a gap of at most `16 2^-i`: for each i
    of the order of `sqrt(l K ln(T) / T)`, or over T rounds `sqrt(l K T ln T)`, the publication's regret bound of l episodes.

    Needs the horizon and the range of the rewards; not the number of changes. Made for arms that change with time, at the
    minimax rate with a large constant (nothing is evicted before `1 + C1 ln T` samples); no guarantee for rested arms, whose
    decay it takes for changes, one episode after the other.

    Example:
        >>> AdSwitch(horizon=10_000)
        AdSwitch(horizon=10000, C1=16.1, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Gajane, Ortner, "Adaptively tracking the best bandit arm with an unknown number of distribution changes",
    COLT 2019.
    """

    horizon: Final[int]
    C1: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        horizon: int,
        C1: float = 16.1,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class CUSUMUCB(Policy):
    """UCB for rewards in [0, 1], restarted where cumulative sums find that the mean has left its first value.

    Pulls the arm with the largest `mean_i + sqrt(xi ln(n) / n_i)` over the n_i samples of arm i since its last restart,
    `n = sum_i n_i`, or, with probability `rate`, any arm. With u0 the mean of the first M of an arm's samples, each sample y
    after these gives

        g+ = max(0, g+ + u0 - y - epsilon),    g- = max(0, g- + y - u0 - epsilon),

    and the arm restarts when one of the two reaches h. An arm without a sample since its restart goes first.

    Args:
        h: threshold of the sums; not to be given with a horizon.
        rate: probability of exploration; not to be given with a horizon. The default, 0.021, is that of h = 10.
        M: samples behind the reference mean u0.
        epsilon: tolerated distance from u0, in units of the range: below the smallest change to be found.
        xi: weight of the bonus.
        restart: "local" restarts the arm that changed, as published, "global" all arms.
        horizon: number of rounds T to tune for: `h = ln(T / Y)` and `rate = sqrt((Y / T) ln(T / Y))`; 0 for both as given.
        breakpoints: number of changes Y, fewer than T, with a horizon.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The tuning is that of Besson et al., who drop the constants and the factor K of the publication's corollary,
    `h = ln(T / Y) / C1` and `rate = K sqrt(C2 Y ln(T / Y) / (C1 T))`, with C1 and C2 from epsilon and M. Its rate balances
    `rate T` rounds of exploration and, in each of K arms, Y delays of `C2 h` samples that come every `K / rate` rounds. Its C1,
    the smaller of `ln(1 + 4 epsilon binomial(M, 2 epsilon M) (2 epsilon)^M / (1 +- epsilon)^2)`, is no use in practice: 2e-50
    for the defaults here, and no sum of rewards reaches such an h.

    Needs the horizon, the number of changes and the range of the rewards, and something of the size of the changes (epsilon).
    Made for arms that change with time; unsound for rested rotting: exploration at random costs a regret in T where arms are
    worn, and a slow decay below epsilon goes unseen.

    Example:
        >>> CUSUMUCB.from_breakpoints(10_000, breakpoints=4, epsilon=0.05).max_rounds
        10000

    Reference: Liu, Lee, Shroff, "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
    AAAI 2018; the tuning of Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling
    piecewise-stationary bandits", JMLR 2022.
    """

    h: Final[float]
    rate: Final[float]
    M: Final[int]
    epsilon: Final[float]
    xi: Final[float]
    restart: Final[int]
    horizon: Final[int]
    breakpoints: Final[int]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        h: float = 10.0,
        rate: float = 0.021,
        M: int = 100,
        epsilon: float = 0.1,
        xi: float = 1.0,
        restart: Literal["local", "global"] = "local",
        horizon: int = 0,
        breakpoints: int = 1,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_breakpoints(
        cls,
        horizon: int,
        breakpoints: int,
        *,
        M: int = 100,
        epsilon: float = 0.1,
        xi: float = 1.0,
        restart: Literal["local", "global"] = "local",
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy for T = `horizon` rounds with Y = `breakpoints` changes."""

class DUCB(Policy):
    """Discounted UCB: a reward that came k rounds before the last one counts `gamma^k`, for every arm.

    Pulls the arm with the largest `mean_i + 2 B sqrt(xi ln(n) / N_i)`: `N_i` is the sum of `gamma^(t - 1 - s)` over the rounds
    s in which arm i was pulled, the mean is weighted alike, and n is the sum of `N_i` over all arms (the logarithm is cut at
    0). Every arm is discounted in every round, pulled or not. With gamma = 1 it is a UCB that never forgets. An arm without a
    reward goes first.

    Args:
        gamma: discount of a round, in (0, 1]; not to be given with a horizon.
        xi: confidence level; the theory asks for more than 1/2; 0.6 is our choice.
        B: rewards lie in [0, B]. It scales the bound; rewards outside are not refused.
        horizon: number of rounds T to tune for; 0 for gamma as given.
        breakpoints: Y, the number of rounds at which some mean changes, with a horizon.
        sigma: "range", for `B / 2`, the sub-Gaussian scale of rewards in [0, B]; another scale, which takes the place of B / 2
            in the bound; or "estimate": learned from the differences of an arm's successive rewards. No theorem covers that.

    Tuning: `DUCB.from_breakpoints(T, Y)`: `gamma = 1 - sqrt(Y / T) / (4 B)`, which must come out positive.
    The publication's constant follows from the width: it is below half a gap from `16 B^2 xi ln(n) / gap^2` discounted rewards
    of a bad arm on, which every `1 / (1 - gamma)` rounds ask for, and as many rounds forget each of the Y breakpoints. With
    xi / gap^2 taken as 1 and without the logarithms, that is `16 B^2 T (1 - gamma) + Y / (1 - gamma)`, the least at this gamma.
    Needs the horizon, the number of breakpoints and the scale of the rewards. Sound for restless rotting in few steps, not for
    rested.

    Example:
        >>> DUCB.from_breakpoints(10_000, breakpoints=4)
        DUCB(xi=0.6, B=1.0, horizon=10000, breakpoints=4, sigma='range')
        >>> DUCB(gamma=0.99)
        DUCB(gamma=0.99, xi=0.6, B=1.0, horizon=0, sigma='range')

    Reference: Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011; the idea is
    from Kocsis, Szepesvári, "Discounted UCB", PASCAL workshop 2006.
    """

    gamma: Final[float]
    xi: Final[float]
    B: Final[float]
    horizon: Final[int]
    breakpoints: Final[int]
    sigma: Final[float | Literal["estimate", "range"]]
    def __init__(
        self,
        gamma: float = 0.999,
        xi: float = 0.6,
        B: float = 1.0,
        horizon: int = 0,
        breakpoints: int = 1,
        sigma: float | Literal["estimate", "range"] = "range",
    ) -> None: ...
    @classmethod
    def from_breakpoints(
        cls,
        horizon: int,
        breakpoints: int,
        *,
        xi: float = 0.6,
        B: float = 1.0,
        sigma: float | Literal["estimate", "range"] = "range",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds and so many `breakpoints`; `xi` and `B` may follow."""

class DiscountedTS(Policy):
    """Discounted Thompson sampling: a reward of round s counts `gamma**(t - 1 - s)` at round t, whatever was played since.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `N_i` and `S_i` the discounted number
    and sum of arm i's rewards, the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared range, mapped to [0, 1],
    or N(S_i / N_i, sigma^2 / N_i). The prior a, b is not discounted: an arm long unplayed returns to it. Each arm once first.

    Args:
        gamma: discount, in (0, 1]; about `1 / (1 - gamma)` rounds are remembered. 1 is Thompson sampling.
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and how fast means change, for gamma. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-9.

    Example:
        >>> DiscountedTS(gamma=0.95).gamma
        0.95

    Reference: Raj, Kalyani, "Taming non-stationary bandits: a Bayesian approach", 2017 (beta); Qi, Wang, Zhu, "Discounted
    Thompson sampling for non-stationary bandit problems", 2023 (gaussian).
    """

    gamma: Final[float]
    kind: Final[int]
    a: Final[float]
    b: Final[float]
    sigma: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        gamma: float = 0.999,
        kind: Literal["beta", "gaussian"] = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class EffFEWA(Policy):
    """FEWA on O(log t) windows an arm: about as good, with constant memory and time in practice.

    The filter of FEWA on the grid `h_0 = 1, h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of
    less than h_j pulls (EFF_UPDATE).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 0.06 in
            practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffFEWA()
        EffFEWA(alpha=0.06, sigma=1.0, m=2.0)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    alpha: Final[float]
    sigma: Final[float | Literal["estimate"]]
    m: Final[float]
    def __init__(
        self,
        alpha: float = 0.06,
        sigma: float | Literal["estimate"] = 1.0,
        m: float = 2.0,
    ) -> None: ...

class EffRAWUCB(Policy):
    """RAW-UCB on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, delta_t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE) and
    `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. With `m <= 1 + 1/T` it is RAW-UCB.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory (m = 2) asks for 3 (restless) or 4 (rested); 1.4 in
            practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> EffRAWUCB(m=1.1)
        EffRAWUCB(alpha=1.4, sigma=1.0, m=1.1)

    Reference: Seznec, Ménard, Lazaric, Valko, AISTATS 2020, Algorithm 2 and the appendix on efficient algorithms.
    """

    alpha: Final[float]
    sigma: Final[float | Literal["estimate"]]
    m: Final[float]
    def __init__(
        self,
        alpha: float = 1.4,
        sigma: float | Literal["estimate"] = 1.0,
        m: float = 2.0,
    ) -> None: ...

class EffRAWUCBpp(Policy):
    """RAW-UCB++ on O(log t) windows an arm: about as good, with constant memory and time in practice.

    Pulls the arm with the largest `min over h_j <= N_i of mean_i^{h_j} + c(h_j, t)` on the grid `h_0 = 1,
    h_{j+1} = ceil(m h_j)`, where the mean of window h_j is refreshed with a delay of less than h_j pulls (EFF_UPDATE),
    `c(h, t) = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))` and `x = max(1, t / (K h))`. With `m <= 1 + 1/T` it is
    RAW-UCB++; `RAWUCBpp` says which part of the formula is the author's.

    Args:
        alpha: confidence level. The author's runs: 1 with beta up to 3.5, or 1.4 to 2 with beta = 0.
        beta: weight of the logarithm of the logarithm, zero or more.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.
        m: ratio of neighbouring windows, above 1; larger is faster and coarser.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Meant for rested and for restless
    rotting, as EFF-RAW-UCB is.

    Example:
        >>> EffRAWUCBpp(m=1.1)
        EffRAWUCBpp(alpha=1.4, beta=0.0, sigma=1.0, m=1.1)

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    alpha: Final[float]
    beta: Final[float]
    sigma: Final[float | Literal["estimate"]]
    m: Final[float]
    def __init__(
        self,
        alpha: float = 1.4,
        beta: float = 0.0,
        sigma: float | Literal["estimate"] = 1.0,
        m: float = 2.0,
    ) -> None: ...

class Exp3(Policy):
    """Exp3: draws arms by exponential weights; no assumption on how rewards come about, but the best arm must not change.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, where W is the sum of the weights, and after its
    reward x, mapped from [low, high] to [0, 1], does `w_i *= exp(gamma x / (p_i K))`. Weights start equal. When only some arms
    are available, W and the exploration `gamma / K` are over those. A reward that comes late is divided by the probability with
    which its arm was drawn.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        horizon: number of rounds T to tune for, `gamma = min(1, sqrt(K ln K / ((e - 1) T)))`; 0 for gamma as given.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: `Exp3.from_horizon(T)`, with the total gain bounded by T.
    Needs the horizon to be tuned, and the range of the rewards. Not sound for rotting of either kind: it competes with the best
    single arm. `Exp3S` and `Rexp3` follow changes.

    Example:
        >>> Exp3.from_horizon(10_000, high=10)
        Exp3(horizon=10000, low=0.0, high=10.0, outside='refuse')
        >>> Exp3(gamma=0.05)
        Exp3(gamma=0.05, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on Computing
    2002, section 3.
    """

    gamma: Final[float]
    horizon: Final[int]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        gamma: float = 0.1,
        horizon: int = 0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_horizon(
        cls,
        horizon: int,
        *,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds; `low`, `high` and `outside` may follow."""

class Exp3S(Policy):
    """Exp3.S: Exp3 whose arms share their weights, so that a new best arm can take over.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, as Exp3 does, and then, with `xhat_i = x / p_i` for
    the arm played and 0 for the others, does `w_i = w_i exp(gamma xhat_i / K) + (e alpha / K) W` for all arms. Rewards x are
    mapped from [low, high] to [0, 1]. A reward that comes late is divided by the probability with which its arm was drawn.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        alpha: rate of sharing, in [0, 1]; 0 is Exp3; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for gamma and alpha as given.
        segments: S = 1 + number of changes of the best arm, with a horizon; 0 if not known.
        budget: V, the total variation of the means in units of high - low, with a horizon; 0 if not known.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: always `alpha = 1 / T`;
    `Exp3S.from_horizon(T)`: `gamma = min(1, sqrt(K ln(KT) / T))`, as in the scripts of the RAW-UCB paper's authors;
    `Exp3S.from_switches(T, switches)`: `gamma = min(1, sqrt(K (S ln(KT) + e) / ((e - 1) T)))`, where S is the
    publication's hardness: 1 + switches;
    `Exp3S.from_budget(T, V)`: `gamma = min(1, (4 V K ln(KT) / ((e - 1)^2 T))^(1/3))`, from Besbes, Gur, Zeevi 2019.
    The first publication's regret against S segments is `K (S ln(KT) + e) / gamma + (e - 1) gamma T`: the second gamma is where
    that is least. The last follows from it: the best arms of batches of D rounds lose at most `2 V D` to the best arms of all
    rounds, and there are at most `S = 2 T / D` batches. `2 V D + 2 K T ln(KT) / (D gamma)` is `4 sqrt(V K T ln(KT) / gamma)` at
    the best D, and together with `(e - 1) gamma T` that is least at this gamma.
    Needs the horizon, better with the changes or the variation, and the range of the rewards. Sound for restless rotting, not
    for rested: its regret is against a sequence of arms whose rewards do not depend on its choices.

    Example:
        >>> Exp3S.from_switches(10_000, switches=4)
        Exp3S(horizon=10000, segments=5, budget=0.0, low=0.0, high=1.0, outside='refuse')
        >>> Exp3S(gamma=0.05, alpha=0.001)
        Exp3S(gamma=0.05, alpha=0.001, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Cesa-Bianchi, Freund, Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on Computing
    2002, section 8; Besbes, Gur, Zeevi, "Optimal exploration-exploitation in a multi-armed bandit problem with non-stationary
    rewards", Stochastic Systems 2019.
    """

    gamma: Final[float]
    alpha: Final[float]
    horizon: Final[int]
    segments: Final[int]
    budget: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        gamma: float = 0.1,
        alpha: float = 0.001,
        horizon: int = 0,
        segments: int = 0,
        budget: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_budget(
        cls,
        horizon: int,
        budget: float,
        *,
        segments: int = 0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds and a total variation `budget` of the means."""
    @classmethod
    def from_horizon(
        cls,
        horizon: int,
        *,
        segments: int = 0,
        budget: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds; `low`, `high` and `outside` may follow."""
    @classmethod
    def from_switches(
        cls,
        horizon: int,
        switches: int,
        *,
        segments: int = 0,
        budget: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds in which the best arm changes `switches` times."""

class FEWA(Policy):
    """Filtering on Expanding Window Average, exact: every window h.

    Starts with all arms. At window h = 1, 2, ... it keeps arm i if `mean_i^h >= max over kept of mean_j^h - 2 c(h, delta_t)`,
    with `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`, and stops as soon as a kept arm has fewer samples than the next
    window: that arm is pulled (the least pulled, then the lowest).

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 0.06 in practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> FEWA(alpha=4)
        FEWA(alpha=4.0, sigma=1.0)

    Reference: Seznec, Locatelli, Carpentier, Lazaric, Valko, "Rotting bandits are no harder than stochastic ones",
    AISTATS 2019.
    """

    alpha: Final[float]
    sigma: Final[float | Literal["estimate"]]
    def __init__(
        self,
        alpha: float = 0.06,
        sigma: float | Literal["estimate"] = 1.0,
    ) -> None: ...

class GLRKLUCB(Policy):
    """kl-UCB for rewards in [0, 1], restarted where a generalised likelihood ratio test finds a change.

    Pulls the arm with the largest `sup{q: n_i kl(mean_i, q) <= f(t - r_i)}`, `f(x) = ln x + c ln ln x`, over the n_i samples of
    arm i since its last restart, after round r_i, with `kl(x, y) = x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))`. After each
    sample of an arm, it restarts if for some split s of its n samples

        s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n, delta),

    with `beta = ln(3 n^(3/2) / delta)` in practice, and in theory as in `GLRUCB`. An arm without a sample since its restart
    goes first. The test looks only at splits that can have the largest statistic, vertices of two hulls; its alarms are those
    of the full scan, up to the last digit of the statistic.

    Args:
        delta: chance of a false alarm; 0 is an infinite threshold, a kl-UCB that never forgets. Not to be given with a
            horizon.
        rate: forced exploration: arm a in the rounds with `(t - 1) mod floor(K / rate) = a`. Arms that only rot need none.
        restart: "local" restarts the arm that changed, "global" all arms.
        c: weight of `ln ln` in the index.
        threshold: "practical" or "theory".
        horizon: number of rounds T to tune for: `delta = 1 / sqrt(T)`; 0 for delta as given.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    Needs the range of the rewards, and the horizon for its delta; not the number of changes. Made for arms that change with
    time; no guarantee for rested arms.

    Example:
        >>> GLRKLUCB.from_horizon(10_000, high=10.0).reward_range
        (0.0, 10.0)

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", JMLR 2022 (first as Besson, Kaufmann 2019).
    """

    delta: Final[float]
    rate: Final[float]
    restart: Final[int]
    c: Final[float]
    threshold: Final[int]
    horizon: Final[int]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        delta: float = 0.01,
        rate: float = 0.0,
        restart: Literal["local", "global"] = "local",
        c: float = 3.0,
        threshold: Literal["practical", "theory"] = "practical",
        horizon: int = 0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_horizon(
        cls,
        horizon: int,
        *,
        rate: float = 0.0,
        restart: Literal["local", "global"] = "local",
        c: float = 3.0,
        threshold: Literal["practical", "theory"] = "practical",
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy for T = `horizon` rounds: `delta = 1 / sqrt(T)`."""

class GLRUCB(Policy):
    """UCB for sub-Gaussian rewards, restarted where a generalised likelihood ratio test finds a change.

    Pulls the arm with the largest `mean_i + sigma sqrt(2 f(t - r_i) / n_i)`, `f(x) = ln x + c ln ln x`, over the n_i samples
    of arm i since its last restart, after round r_i. After each sample of an arm, it restarts if for some split s of its n
    samples

        s kl(mean_1:s, mean_1:n) + (n - s) kl(mean_s+1:n, mean_1:n) >= beta(n, delta),    kl(x, y) = (x - y)^2 / (2 sigma^2),

    with `beta = (1 + 1/n) ln(2 n^(3/2) / delta)` in practice. In theory `beta = 2 T(ln(3 n^(3/2) / delta) / 2) +
    6 ln(1 + ln n)`, where we take `x + 4 ln(1 + x + sqrt(2 x))` for `T(x)`. An arm without a sample since its restart goes
    first. The test looks only at splits that can have the largest statistic, vertices of two hulls; its alarms are those of the
    full scan, up to the last digit of the statistic.

    Args:
        delta: chance of a false alarm; 0 is an infinite threshold, a UCB that never forgets. Not to be given with a horizon.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.
        rate: forced exploration: arm a in the rounds with `(t - 1) mod floor(K / rate) = a`. Arms that only rot need none.
        restart: "local" restarts the arm that changed, "global" all arms.
        c: weight of `ln ln` in the index.
        threshold: "practical" or "theory".
        bound: divergence of the index: "gaussian", as above, or "bernoulli", as in the code behind the published curves of
            GLR-UCB on rotting bandits: the kl-UCB index with the Gaussian test. It is no bound for means outside [0, 1].
        horizon: number of rounds T to tune for: `delta = 1 / sqrt(T)`; 0 for delta as given.

    Needs the horizon for its delta; not the number of changes. Made for arms that change with time; on rested arms it has no
    guarantee, but the rotting papers found it to do well, with `rate = 0` and local restarts.

    Example:
        >>> GLRUCB.from_horizon(10_000, sigma=0.5).sigma
        0.5

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", JMLR 2022 (first as Besson, Kaufmann 2019); the practical threshold after Maillard, "Sequential change-point
    detection", ALT 2019, as used in the first author's code.
    """

    delta: Final[float]
    sigma: Final[float | Literal["estimate"]]
    rate: Final[float]
    restart: Final[int]
    c: Final[float]
    threshold: Final[int]
    bound: Final[int]
    horizon: Final[int]
    def __init__(
        self,
        delta: float = 0.01,
        sigma: float | Literal["estimate"] = 1.0,
        rate: float = 0.0,
        restart: Literal["local", "global"] = "local",
        c: float = 3.0,
        threshold: Literal["practical", "theory"] = "practical",
        bound: Literal["bernoulli", "gaussian"] = "gaussian",
        horizon: int = 0,
    ) -> None: ...
    @classmethod
    def from_horizon(
        cls,
        horizon: int,
        *,
        sigma: float | Literal["estimate"] = 1.0,
        rate: float = 0.0,
        restart: Literal["local", "global"] = "local",
        c: float = 3.0,
        threshold: Literal["practical", "theory"] = "practical",
        bound: Literal["bernoulli", "gaussian"] = "gaussian",
    ) -> Self:
        """Return the policy for T = `horizon` rounds: `delta = 1 / sqrt(T)`."""

class GreedyOracle(Policy):
    """The arm with the largest current mean `mu_i(t, N_i)`, which no learner can see.

    Optimal for restless problems, and for rested ones that rot; not when arms rot both with their pulls and with time, where
    its regret can be linear (the paper's proposition on unlearnable problems). Needs the true means: for simulations only.

    Example:
        >>> GreedyOracle()
        GreedyOracle()

    Reference: Heidari, Kearns, Roth, "Tight policy regret bounds for improving and decaying bandits", IJCAI 2016.
    """

    def __init__(self) -> None: ...

class KLUCB(Policy):
    """KL-UCB: the largest `sup{q: N_i kl(mean_i, q) <= ln(t) + c ln ln(t)}` over all rewards ever seen.

    `kl(x, y)` is the divergence of two Bernoulli distributions, `x ln(x / y) + (1 - x) ln((1 - x) / (1 - y))`, for rewards in
    a declared range, mapped to [0, 1]; or of two Gaussians, `(x - y)^2 / (2 sigma^2)`, which makes the index
    `mean_i + sigma sqrt(2 (ln(t) + c ln ln(t)) / N_i)`. `ln ln(t)` counts as 0 where t < e.

    Args:
        kind: divergence, "bernoulli" (sound for any rewards in [low, high]) or "gaussian".
        c: weight of `ln ln(t)`: 3 in theory, 0 in practice.
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("bernoulli" only).
        high: largest reward ("bernoulli" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("bernoulli" only).

    Needs to know the range, or sigma, in advance, and nothing else. Never forgets: not sound for rotting, rested or restless.

    Example:
        >>> KLUCB(c=3)
        KLUCB(kind='bernoulli', c=3.0, sigma=1.0, low=0.0, high=1.0, outside='refuse')

    Reference: Garivier, Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011.
    """

    kind: Final[int]
    c: Final[float]
    sigma: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        kind: Literal["bernoulli", "gaussian"] = "bernoulli",
        c: float = 0.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class MUCB(Policy):
    """UCB for rewards in [0, 1]; all arms restart when the two halves of an arm's last w samples differ.

    Pulls the arm with the largest `mean_i + sqrt(2 ln(t - r) / n_i)` over the n_i samples of arm i since the last restart,
    after round r. Explores: arm a in the rounds with `(t - r - 1) mod ceil(K / gamma) = a`. All arms restart after a sample of
    an arm with at least w samples if `|sum of its last w / 2 - sum of the w / 2 before| > b`. An arm without a sample since the
    restart goes first.

    Args:
        w: window of the detector, an even number of samples of one arm; not to be given with a change.
        b: threshold of the detector; not to be given with a horizon. The default, 46, is that of w = 200, K = 10, T = 10,000.
        gamma: share of the rounds that explore; not to be given with a horizon. Arms that only rot need none.
        horizon: number of rounds T to tune for: `b = sqrt(w ln(2 K T^2) / 2)`, `gamma = sqrt(Y K (2 b + 3 sqrt(w)) / (2 T))`,
            at most 1; 0 for b and gamma as given.
        breakpoints: number of changes Y (the publication's M - 1), with a horizon.
        change: smallest change to be found, in units of the range, at least 0.001, with a horizon:
            `w = (4 / change^2) (sqrt(ln(2 K T^2)) + sqrt(ln(2 T)))^2`, rounded up to an even number, often longer than T;
            0 for w as given.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The tuning is the publication's. Of two sums of w / 2 samples without a change, the difference exceeds b with a chance of at
    most `2 exp(-2 b^2 / w) = 1 / (K T^2)` (Hoeffding), so that all K arms and T rounds together raise a false alarm with a
    chance of at most 1 / T. The window is the shortest with `change >= 2 sqrt(ln(2 K T^2) / w) + 2 sqrt(ln(2 T) / w)`: a change
    in its middle moves the difference by `change w / 2`, past b by `sqrt(w ln(2 T) / 2)` or more, and is missed with a chance
    of at most 1 / T. gamma is where `gamma T` rounds of exploration and Y delays of `K (2 b + 3 sqrt(w)) / (2 gamma)` rounds
    are least together.

    Needs the horizon, the number of changes, the size of the smallest one, and the range of the rewards. Made for arms that
    change with time; unsound for rested rotting: forced exploration pulls worn arms, and slow decay goes unseen.

    Example:
        >>> MUCB.from_breakpoints(10_000, breakpoints=4, w=800).max_rounds
        10000

    Reference: Cao, Wen, Kveton, Xie, "Nearly optimal adaptive procedure with change detection for piecewise-stationary
    bandit", AISTATS 2019.
    """

    w: Final[int]
    b: Final[float]
    gamma: Final[float]
    horizon: Final[int]
    breakpoints: Final[int]
    change: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        w: int = 200,
        b: float = 46.0,
        gamma: float = 0.05,
        horizon: int = 0,
        breakpoints: int = 1,
        change: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_breakpoints(
        cls,
        horizon: int,
        breakpoints: int,
        *,
        w: int = 200,
        change: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy for `horizon` rounds with so many changes; give `change`, or the window `w`."""

class RAWKLUCB(Policy):
    """RAW-klUCB, exact: RAW-UCB with the kl bound of every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of sup{q: h kl(mean_i^h, q) <= alpha ln(t)}`, where `mean_i^h` is
    the mean of the last h rewards of arm i and kl the divergence of two Bernoulli distributions, for rewards in a declared
    range, mapped to [0, 1]; or of two Gaussians, which makes it RAW-UCB. Each arm once first; ties to the lowest arm.

    Args:
        kind: divergence, "bernoulli" (sound for any rewards in [low, high]) or "gaussian".
        alpha: confidence level; 1.4 in practice, as for RAW-UCB.
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("bernoulli" only).
        high: largest reward ("bernoulli" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("bernoulli" only).

    Needs to know the range, or sigma, in advance; neither the horizon nor the number of changes. Meant for rested and for
    restless rotting, as RAW-UCB is: tighter where means are close to an end of the range.

    Example:
        >>> RAWKLUCB(high=10)
        RAWKLUCB(kind='bernoulli', alpha=1.4, sigma=1.0, low=0.0, high=10.0, outside='refuse')

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    kind: Final[int]
    alpha: Final[float]
    sigma: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        kind: Literal["bernoulli", "gaussian"] = "bernoulli",
        alpha: float = 1.4,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class RAWUCB(Policy):
    """Rotting Adaptive Window Upper Confidence Bound, exact: every window h <= N_i.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, delta_t)`, where `mean_i^h` is the mean of the
    last h rewards of arm i and `c(h, delta_t) = sigma sqrt(2 alpha ln(t) / h)`. Each arm once first; ties to the lowest arm.

    Args:
        alpha: confidence level, `delta_t = 2 / t**alpha`. The theory asks for 4 (restless) or 5 (rested); 1.4 in practice.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Sound for rested and for restless
    rotting.

    Example:
        >>> RAWUCB(alpha=1.4)
        RAWUCB(alpha=1.4, sigma=1.0)

    Reference: Seznec, Ménard, Lazaric, Valko, "A single algorithm for both restless and rested rotting bandits",
    AISTATS 2020, Algorithm 1.
    """

    alpha: Final[float]
    sigma: Final[float | Literal["estimate"]]
    def __init__(
        self,
        alpha: float = 1.4,
        sigma: float | Literal["estimate"] = 1.0,
    ) -> None: ...

class RAWUCBpp(Policy):
    """RAW-UCB++, exact: every window h <= N_i, with widths that shrink to nothing for windows of t / K pulls.

    Pulls the arm with the largest index `min over h <= N_i of mean_i^h + c(h, t)`, where `mean_i^h` is the mean of the last h
    rewards of arm i, `c(h, t) = sigma sqrt((2 alpha / h) ln(x (1 + ln x)^(beta / alpha)))` and `x = max(1, t / (K h))`, with K
    the number of available arms. Each arm once first; ties to the lowest arm.

    The width is RAW-UCB's, `sigma sqrt(2 ln(1 / delta) / h)`, with the author's `delta = 1 / (x (1 + ln x)^beta)` at alpha = 1
    and his `delta = x^-alpha` at beta = 0; one formula for both is ours. His code multiplies the second by alpha once more: its
    alpha = 1.4 is alpha = 1.96 here.

    Args:
        alpha: confidence level. The author's runs: 1 with beta up to 3.5, or 1.4 to 2 with beta = 0.
        beta: weight of the logarithm of the logarithm, zero or more.
        sigma: sub-Gaussian scale of the rewards, or "estimate": learned from the differences of an arm's successive rewards. No
            theorem covers that.

    Needs to know sigma, or estimates it; neither the horizon nor the number of changes. Meant for rested and for restless
    rotting, as RAW-UCB is.

    Example:
        >>> RAWUCBpp(alpha=1, beta=3.5)
        RAWUCBpp(alpha=1.0, beta=3.5, sigma=1.0)

    Reference: Seznec, "Sequential machine learning for intelligent tutoring systems", PhD thesis, Université de Lille, 2020.
    """

    alpha: Final[float]
    beta: Final[float]
    sigma: Final[float | Literal["estimate"]]
    def __init__(
        self,
        alpha: float = 1.4,
        beta: float = 0.0,
        sigma: float | Literal["estimate"] = 1.0,
    ) -> None: ...

class Rexp3(Policy):
    """Rexp3: Exp3 that forgets everything after each batch of rounds.

    Draws arm i with probability `p_i = (1 - gamma) w_i / W + gamma / K`, does `w_i *= exp(gamma x / (p_i K))` after its reward
    x, mapped from [low, high] to [0, 1], and sets all weights to 1 after every `batch` rounds. A reward that comes late is
    divided by the probability with which its arm was drawn, and counts in the batch in which it comes.

    Args:
        gamma: rate of exploration, in (0, 1]; not to be given with a horizon.
        batch: rounds between two restarts; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for gamma and batch as given.
        budget: V, the total variation of the means in units of high - low, with a horizon; 1 if not known.
        low: smallest reward.
        high: largest reward.
        outside: "refuse" rewards outside [low, high], or "clip" them.

    Tuning: `Rexp3.from_budget(T, V)`: `batch = ceil((K ln K)^(1/3) (T / V)^(2/3))` and `gamma = min(1, sqrt(K ln K / ((e - 1)
    batch)))`; the batch is cut to 1, ..., T.
    Needs the horizon and the total variation of the means, and the range of the rewards. Sound for restless rotting, not for
    rested: the means must not depend on its choices.

    Example:
        >>> Rexp3.from_budget(10_000, budget=2)
        Rexp3(horizon=10000, budget=2.0, low=0.0, high=1.0, outside='refuse')
        >>> Rexp3(gamma=0.1, batch=500)
        Rexp3(gamma=0.1, batch=500, horizon=0, low=0.0, high=1.0, outside='refuse')

    Reference: Besbes, Gur, Zeevi, "Stochastic multi-armed-bandit problem with non-stationary rewards", NeurIPS 2014.
    """

    gamma: Final[float]
    batch: Final[int]
    horizon: Final[int]
    budget: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        gamma: float = 0.1,
        batch: int = 1000,
        horizon: int = 0,
        budget: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...
    @classmethod
    def from_budget(
        cls,
        horizon: int,
        budget: float,
        *,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds and a total variation `budget` of the means."""

class SlidingWindowTS(Policy):
    """Sliding-window Thompson sampling: only the rewards of the last tau rounds count.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `N_i` the number and `S_i` the sum of
    arm i's rewards in rounds t - tau, ..., t - 1, the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared
    range, mapped to [0, 1], or N(S_i / N_i, sigma^2 / N_i). An arm without a reward in the window has its prior again ("beta")
    or is played at once ("gaussian"). Each arm once first. (Live, a late reward counts for the tau rounds after it came.)

    Args:
        tau: window: how many rounds count. From the horizon on, it is Thompson sampling.
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and how fast means change, for tau. Meant for restless arms; not sound for
    rested rotting, where an arm is as good after a rest as before. Propensities are integrals over the posteriors, to about
    1e-9.

    Example:
        >>> SlidingWindowTS(tau=200).tau
        200

    Reference: Trovò, Paladino, Restelli, Gatti, "Sliding-window Thompson sampling for non-stationary settings", JAIR 2020.
    """

    tau: Final[int]
    kind: Final[int]
    a: Final[float]
    b: Final[float]
    sigma: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        tau: int = 1000,
        kind: Literal["beta", "gaussian"] = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class SWUCB(Policy):
    """Sliding-window UCB: only the last tau rounds count, for every arm.

    Pulls the arm with the largest `mean_i + B sqrt(xi ln(min(t, tau)) / N_i)`, with the mean and the number N_i of arm i's
    rewards in rounds t - tau, ..., t - 1. An arm with none there goes first (the lowest of them, so tau should be at least the
    number of arms). Sums are exact: a reward that has left the window leaves no trace, whatever its size.

    Args:
        tau: rounds in the window, 1 or more; not to be given with a horizon.
        xi: confidence level; the theory asks for more than 1/2; 0.6 is our choice.
        B: rewards lie in [0, B]. It scales the bound; rewards outside are not refused.
        horizon: number of rounds T to tune for; 0 for tau as given.
        breakpoints: Y, the number of rounds at which some mean changes, with a horizon.
        sigma: "range", for `B / 2`, the sub-Gaussian scale of rewards in [0, B]; another scale, which takes the place of B / 2
            in the bound; or "estimate": learned from the differences of an arm's successive rewards. No theorem covers that.

    Tuning: `SWUCB.from_breakpoints(T, Y)`: `tau = ceil(2 B sqrt(T ln(T) / Y))`, cut to 1, ..., T, and T where Y = 0.
    The publication's constant follows from the width: it is below half a gap from `4 B^2 xi ln(tau) / gap^2` rewards of a bad
    arm on, which `T / tau` windows ask for, and each of the Y breakpoints costs a window. With xi / gap^2 taken as 1 and ln T
    for ln tau, that is `4 B^2 ln(T) T / tau + Y tau`, the least where `tau = 2 B sqrt(T ln(T) / Y)`.
    Needs the horizon, the number of breakpoints and the scale of the rewards. Sound for restless rotting in few steps, not for
    rested.

    Example:
        >>> SWUCB.from_breakpoints(10_000, breakpoints=4)
        SWUCB(xi=0.6, B=1.0, horizon=10000, breakpoints=4, sigma='range')
        >>> SWUCB(tau=500)
        SWUCB(tau=500, xi=0.6, B=1.0, horizon=0, sigma='range')

    Reference: Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
    """

    tau: Final[int]
    xi: Final[float]
    B: Final[float]
    horizon: Final[int]
    breakpoints: Final[int]
    sigma: Final[float | Literal["estimate", "range"]]
    def __init__(
        self,
        tau: int = 1000,
        xi: float = 0.6,
        B: float = 1.0,
        horizon: int = 0,
        breakpoints: int = 1,
        sigma: float | Literal["estimate", "range"] = "range",
    ) -> None: ...
    @classmethod
    def from_breakpoints(
        cls,
        horizon: int,
        breakpoints: int,
        *,
        xi: float = 0.6,
        B: float = 1.0,
        sigma: float | Literal["estimate", "range"] = "range",
    ) -> Self:
        """Return the policy tuned for `horizon` rounds and so many `breakpoints`; `xi` and `B` may follow."""

class SWA(Policy):
    """Sliding Window Average: M pulls of each arm in turn, then always the largest mean of the last M pulls.

    The window is over an arm's own pulls. While some available arm has fewer than M, the least pulled one is pulled (then the
    lowest).

    Args:
        M: pulls in the window, 1 or more; not to be given with a horizon.
        horizon: number of rounds T to tune for; 0 for M as given.
        alpha: scale of the tuned window, with a horizon. The authors' runs of RAW-UCB have 0.002, 0.02 and 0.2.
        sigma: sub-Gaussian scale of the rewards, with a horizon.

    Tuning: `SWA.from_horizon(T)`: `M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))`, at most T (with
    which only the turns are left).
    Needs the horizon and the scale of the rewards; `WSWA` does without the horizon. Sound for rested rotting, where each arm's
    mean never rises; not for restless, since an arm that has lost once is never tried again.

    Example:
        >>> SWA.from_horizon(10_000, alpha=0.02)
        SWA(horizon=10000, alpha=0.02, sigma=1.0)
        >>> SWA(M=50)
        SWA(M=50, horizon=0)

    Reference: Levine, Crammer, Mannor, "Rotting bandits", NeurIPS 2017.
    """

    M: Final[int]
    horizon: Final[int]
    alpha: Final[float]
    sigma: Final[float]
    def __init__(
        self,
        M: int = 20,
        horizon: int = 0,
        alpha: float = 0.2,
        sigma: float = 1.0,
    ) -> None: ...
    @classmethod
    def from_horizon(
        cls,
        horizon: int,
        *,
        alpha: float = 0.2,
        sigma: float = 1.0,
    ) -> Self:
        """Return the policy tuned for `horizon` rounds; `alpha` and `sigma` may follow."""

class ThompsonSampling(Policy):
    """Thompson sampling over all rewards ever seen.

    Draws a mean for each arm from its posterior and plays the arm with the largest. With `S_i` the sum of arm i's N_i rewards,
    the posterior is Beta(a + S_i, b + N_i - S_i) for rewards in a declared range, mapped to [0, 1] (a reward in between counts
    as that much of a success), or N(S_i / N_i, sigma^2 / N_i), from a flat prior. Each arm once first.

    Args:
        kind: posterior, "beta" or "gaussian".
        a: prior successes ("beta" only).
        b: prior failures ("beta" only).
        sigma: standard deviation of the rewards ("gaussian" only).
        low: smallest reward ("beta" only).
        high: largest reward ("beta" only).
        outside: "refuse" rewards outside [low, high], or "clip" them ("beta" only).

    Needs to know the range, or sigma, in advance, and nothing else. Never forgets: not sound for rotting, rested or restless.
    Propensities are integrals over the posteriors, to about 1e-9.

    Example:
        >>> ThompsonSampling("gaussian", sigma=0.5).kernel.propensities is None
        False

    Reference: Thompson, "On the likelihood that one unknown probability exceeds another", Biometrika 1933; Agrawal, Goyal,
    "Analysis of Thompson sampling for the multi-armed bandit problem", COLT 2012.
    """

    kind: Final[int]
    a: Final[float]
    b: Final[float]
    sigma: Final[float]
    low: Final[float]
    high: Final[float]
    outside: Final[int]
    def __init__(
        self,
        kind: Literal["beta", "gaussian"] = "beta",
        a: float = 1.0,
        b: float = 1.0,
        sigma: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
        outside: Literal["refuse", "clip"] = "refuse",
    ) -> None: ...

class UCB1(Policy):
    """UCB1: the largest `mean_i + sigma sqrt(2 ln(t) / N_i)` over all rewards ever seen.

    Args:
        sigma: sub-Gaussian scale of the rewards; `sigma = 0.5` gives the usual form for rewards in [0, 1]. Or "estimate":
            learned from the differences of an arm's successive rewards. No theorem covers that.

    Needs to know sigma, or estimates it, and nothing else; there is nothing to tune. Never forgets: not sound for rested nor
    for restless rotting, with linear regret once an arm that led has worn out.

    Example:
        >>> UCB1(sigma=0.5)
        UCB1(sigma=0.5)

    Reference: Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 2002.
    """

    sigma: Final[float | Literal["estimate"]]
    def __init__(
        self,
        sigma: float | Literal["estimate"] = 1.0,
    ) -> None: ...

class Uniform(Policy):
    """Any available arm, with equal probability: arm i with `p_i = 1 / |A|` for the available arms A.

    Needs to know nothing in advance and learns nothing: not sound for rested nor for restless rotting. It is the baseline.

    Example:
        >>> Uniform()
        Uniform()

    Reference: none is needed; the random baseline of every comparison.
    """

    def __init__(self) -> None: ...

class WSWA(Policy):
    """SWA in epochs of 1, 2, 4, ... rounds, each from scratch and tuned to its own length.

    In an epoch of length T every arm is pulled M times in turn, and then always the one with the largest mean of its last M
    pulls in the epoch, with `M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln^(1/3)(sqrt(2) T))`, at most T.

    Args:
        alpha: scale of the window. The authors' runs of RAW-UCB have 0.002, 0.02 and 0.2.
        sigma: sub-Gaussian scale of the rewards.

    Needs the scale of the rewards, and neither the horizon nor the number of changes. Sound for rested rotting; under restless
    rotting it tries all arms again at each epoch, which is too seldom for a guarantee.

    Example:
        >>> WSWA(alpha=0.02)
        WSWA(alpha=0.02, sigma=1.0)

    Reference: Levine, Crammer, Mannor, "Rotting bandits", NeurIPS 2017.
    """

    alpha: Final[float]
    sigma: Final[float]
    def __init__(
        self,
        alpha: float = 0.2,
        sigma: float = 1.0,
    ) -> None: ...
