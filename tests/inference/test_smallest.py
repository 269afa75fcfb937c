"""The search for the smallest number that is enough."""

from __future__ import annotations

import pytest

from lmprobe.inference.smallest import smallest


@pytest.mark.parametrize("wanted", [2, 3, 4, 5, 1023, 1024, 1025, 2**60 - 1, 2**60])
def test_it_is_the_first_that_is_enough(wanted: int) -> None:
    assert smallest(lambda n: n >= wanted) == wanted


def test_two_is_the_smallest_that_is_ever_asked_for() -> None:
    assert smallest(lambda n: True) == 2


def test_there_is_none_where_more_than_two_to_the_sixtieth_would_be_needed() -> None:
    assert smallest(lambda n: n >= 2**60 + 1) is None
    assert smallest(lambda n: False) is None
