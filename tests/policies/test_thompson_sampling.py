"""Thompson sampling. The common tests play its games."""

from tests.reference import thompson

Naive = thompson.ThompsonSampling  # what the common tests compare the policy with
