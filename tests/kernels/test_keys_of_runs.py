"""Every bit of a key, and of a run's number, matters to the key of the run."""

import pytest

from rotting.kernels.random_numbers import subkey

KEY, RUN = 0x2545F4914F6CDD1D, 0x1234567890


@pytest.mark.parametrize("bit", range(63))
def test_a_key_differs_where_one_bit_does(bit: int) -> None:
    assert subkey(KEY ^ (1 << bit), RUN) != subkey(KEY, RUN)
    assert subkey(1 << bit, 0) != subkey(0, 0)


@pytest.mark.parametrize("bit", range(40))
def test_a_key_differs_where_one_bit_of_the_run_does(bit: int) -> None:
    assert subkey(KEY, RUN ^ (1 << bit)) != subkey(KEY, RUN)
