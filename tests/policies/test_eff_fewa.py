"""EFF-FEWA: FEWA on the delayed windows. The common tests play its games."""

from tests.reference import windows

Naive = windows.EffFEWA  # what the common tests compare the policy with
