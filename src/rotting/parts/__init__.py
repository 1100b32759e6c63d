"""What policies are made of.

A file in `policies/` has a policy's parameters, its state and its algorithm: index, choose, update. What several policies need,
and what makes them fast, is here:

    largest_index        the arm with the largest index
    lazy_choice          the same for indices that are minima over windows, without computing every index
    first_pulls          the lowest arm without a reward
    hull_windows         recording rewards, and the tightest bound of all windows: RAW-UCB's widths
    block_windows        the same for any width
    delayed_windows      EFF_UPDATE (Algorithm 2), and the tightest bound of its windows
    tournament           the highest of many lines, kept up to date
    hull                 the windows that can matter: the upper hull of an arm's prefix sums
    stack_pool           room for one stack per arm, in arrays that all arms share
    prefix_sums          the means of all windows
    prefix_blocks        the same, with bounds for blocks of windows
    arm_filter           the filter of FEWA
    sliding_window       the rewards of the last rounds
    discounts            discounted counts and sums
    exponential_weights  weights and draws of the Exp3 family
    posteriors           Thompson sampling: draws, propensities, explanations
    paired_draws         the propensities of Thompson sampling with two draws for each arm
    restarts             which arms restart after an alarm, and exploration in turn
    glr_test             the generalised likelihood ratio test for a change
    divergences          Kullback-Leibler divergences and the bounds they give
    noise_scale          the scale of the noise, given or estimated
    presence             which arms a live bandit has, where their number counts
    confidence           the widths of confidence bounds
    reward_scale         rewards in a declared range, or Gaussian
    doubling             the doubling trick

A part leaves open what its policies choose: a function marked `@slot` (`kernels/binding.py`). Tables such as `HULL_WINDOWS` say
what fills the slots of `largest_index`; functions such as `by_index` or `thompson` fill slots with a policy's own functions,
and return entries of its `Kernel`.
"""
