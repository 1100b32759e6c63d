"""What policies are made of.

A file in `policies/` has a policy's parameters, its state and its algorithm: index, choose, update. What several policies need,
and what makes them fast, is here:

    indices              the arm with the largest index, computing every one or few of them; widths; arms without a reward
    hull                 the windows that can matter, and the tightest bound of all windows: RAW-UCB's widths
    prefix_sums          the means of all windows, bounds for blocks of them, and the tightest bound for any width
    delayed_windows      EFF_UPDATE (Algorithm 2), and the tightest bound of its windows
    arm_filter           the filter of FEWA
    forgetting           the rewards of the last rounds, and discounted counts and sums
    exponential_weights  weights and draws of the Exp3 family
    posteriors           Thompson sampling: draws, propensities, explanations
    paired_draws         the propensities of Thompson sampling with two draws for each arm
    glr_test             the generalised likelihood ratio test for a change
    divergences          Kullback-Leibler divergences and the bounds they give
    noise_scale          the scale of the noise, given or estimated
    presence             which arms a live bandit has, where their number counts, and exploration in turn
    reward_scale         rewards in a declared range, or Gaussian
    doubling             the doubling trick
    plain                plain classes as policies, which the interpreter plays

A part leaves open what its policies choose: a function marked `@slot` (`kernels/binding.py`). Tables such as `HULL_WINDOWS` say
what fills the slots of `largest_index`; functions such as `by_index` or `thompson` fill slots with a policy's own functions,
and return entries of its `Kernel`.
"""
