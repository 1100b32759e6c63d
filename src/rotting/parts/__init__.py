"""What policies are made of.

A file in `policies/` has a policy's parameters, its state and its algorithm: index, choose, update. What several policies need,
and what makes them fast, is here:

    largest_index        choose the arm with the largest index
    lazy_choice          the same for indices that are minima over windows, without computing every index
    hull_windows         recording rewards, and the tightest bound of all windows: RAW-UCB's widths
    block_windows        the same for any width
    delayed_windows      EFF_UPDATE (Algorithm 2), and the tightest bound of its windows
    tournament           the highest of many lines, kept up to date
    hull                 the windows that can matter: the upper hull of an arm's prefix sums
    stack_pool           room for one stack an arm, in arrays that all arms share
    prefix_blocks        the means of all windows, with bounds for blocks of windows
    arm_filter           the filter of FEWA
    sliding_window       the rewards of the last rounds
    discounts            discounted counts and sums
    exponential_weights  weights, draws and updates of the Exp3 family
    posteriors           Thompson sampling: draws, propensities, explanations
    restarts             choice of policies that restart on an alarm
    glr_test             the generalised likelihood ratio test for a change
    divergences          Kullback-Leibler divergences and the bounds they give
    noise_scale          the scale of the noise, given or estimated
    presence             which arms are there, where their number counts
    confidence           the widths of confidence bounds
    reward_scale         rewards in a declared range, or Gaussian
    doubling             the doubling trick

A part leaves open what its policies choose: a function marked `@slot` (`kernels/binding.py`). Tables such as `HULL_WINDOWS` say
what fills the slots of `largest_index`; functions such as `by_index` or `restarting` fill slots with a policy's own functions,
and return entries of its `Kernel`. Which part uses which:

    restarts             largest_index, presence
    hull_windows         confidence, hull, lazy_choice, stack_pool, tournament
    block_windows        confidence, lazy_choice, prefix_blocks
    hull                 stack_pool
    delayed_windows      confidence, lazy_choice, tournament
    lazy_choice          tournament
    arm_filter           confidence, noise_scale, prefix_blocks
    glr_test             hull, stack_pool
    exponential_weights  presence, reward_scale
    posteriors           reward_scale

and which policy uses which (Uniform and the greedy oracle need none):

    raw_ucb              hull_windows, lazy_choice, noise_scale, stack_pool, tournament
    raw_ucb_pp           block_windows, confidence, lazy_choice, noise_scale, prefix_blocks
    raw_kl_ucb           divergences, hull_windows, lazy_choice, reward_scale, stack_pool
    eff_raw_ucb          delayed_windows, lazy_choice, noise_scale, tournament
    eff_raw_ucb_pp       confidence, delayed_windows, lazy_choice, noise_scale
    fewa                 arm_filter, confidence, noise_scale, prefix_blocks
    eff_fewa             arm_filter, confidence, delayed_windows, noise_scale
    ucb1                 confidence, largest_index, noise_scale
    kl_ucb               divergences, largest_index, reward_scale
    sw_ucb               largest_index, noise_scale, sliding_window
    d_ucb                discounts, largest_index, noise_scale
    swa                  presence
    wswa                 doubling
    exp3                 exponential_weights, reward_scale
    exp3_s               exponential_weights, reward_scale
    rexp3                exponential_weights, reward_scale
    thompson_sampling    posteriors, reward_scale
    discounted_ts        posteriors, reward_scale
    sliding_window_ts    posteriors, reward_scale, sliding_window
    f_dsw_ts             discounts, posteriors, reward_scale
    glr_ucb              divergences, glr_test, hull, noise_scale, presence, restarts, stack_pool
    glr_kl_ucb           divergences, noise_scale, restarts, reward_scale
    cusum_ucb            largest_index, restarts, reward_scale
    m_ucb                presence, restarts, reward_scale
    ad_switch            presence, restarts, reward_scale
"""
