import unittest

import pytest

import sums


def test_add() -> None:
    assert sums.add(2, 3) == 5


@pytest.mark.parametrize("a, b, total", [(1, 1, 2), (2, 2, 5)], ids=["klein", "größer"])
def test_table(a: int, b: int, total: int) -> None:
    assert sums.add(a, b) == total


@pytest.mark.skip(reason="not yet")
def test_later() -> None:
    raise AssertionError


@pytest.fixture
def broken() -> int:
    raise RuntimeError("no fixture today")


def test_with_a_broken_fixture(broken: int) -> None:
    assert broken == 1


class TestOld(unittest.TestCase):
    def test_divide(self) -> None:
        self.assertEqual(sums.divide(4, 2), 2)
