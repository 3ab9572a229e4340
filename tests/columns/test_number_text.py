"""Numbers written as text: every format is read as one, and what can be read in two ways is not read."""

import itertools
import math

import pytest

from bayesnb.number_text import AmbiguousNumbers, NumberFormat, looks_like_number, number_format

NUMBERS = [0.5, 3.25, 12.0, 1234.5, 1234567.25, -42.75]


@pytest.mark.parametrize(("decimal", "thousands"), [(".", ","), (",", "."), (",", " "), (".", "'"), (",", "")])
@pytest.mark.parametrize("sign", ["", "%", "€", "$"])
def test_a_format_is_found_and_read(decimal: str, thousands: str, sign: str) -> None:
    swap = str.maketrans({".": decimal, ",": thousands or "_"})
    cells = [f"{x:,.2f}".translate(swap).replace("_", "") + (f" {sign}" if sign else "") for x in NUMBERS]
    found = number_format(cells)
    assert found == NumberFormat(decimal, thousands, sign)
    assert [found.number(cell) for cell in cells] == NUMBERS


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234.567"], [1234567.0]),
        (["1.234.567", "15.018"], [1234567.0, 15018.0]),
        (["0.123", "15.018"], [0.123, 15.018]),
        (["1234.567", "15.018"], [1234.567, 15.018]),
        (["3,5", "15.018"], [3.5, 15018.0]),
        (["\u2212 3,5 €", "€ 7"], [-3.5, 7.0]),
        (["$-12.5", "-$12.5"], [-12.5, -12.5]),
        (["1e3", "2.5E-1"], [1000.0, 0.25]),
        (["1\u202f234,5"], [1234.5]),
    ],
)
def test_cells_settle_what_separators_mean(cells: list[str], expected: list[float]) -> None:
    found = number_format(cells)
    assert found is not None
    assert [found.number(cell) for cell in cells] == expected


def test_what_can_be_read_in_two_ways_is_not_read() -> None:
    for separator, other in ((".", ","), (",", ".")):
        cells = [f"15{separator}018", f"7{separator}250", "12"]
        with pytest.raises(AmbiguousNumbers, match=r"may be 15018 or 15\.018"):
            number_format(cells)
        for given in ({"decimal": other}, {"thousands": separator}, {"clear": other}):
            found = number_format(cells, **given)
            assert found is not None
            assert found.number(cells[0]) == 15018
        for given in ({"decimal": separator}, {"thousands": other}, {"clear": separator}):
            found = number_format(cells, **given)
            assert found is not None
            assert found.number(cells[0]) == 15.018


@pytest.mark.parametrize(
    "cells", [["192.168.1.1"], ["1.2.3"], ["5 €", "5 $"], ["5 %", "5"], ["1,5", "1.5"], ["1.234,5", "1,234.5"]]
)
def test_cells_of_no_one_format_are_no_numbers(cells: list[str]) -> None:
    assert number_format(cells) is None


def test_no_cell_is_read_leniently() -> None:
    """A separator between anything but groups of three makes a cell no number."""
    form = NumberFormat(",", ".", "")
    for cell in ("3.14", "1.23", "1234.567", "1.2345,6", "1,2,3", "12 %", "", "x", "1.234.56"):
        assert math.isnan(form.number(cell)), cell
    assert [form.number(cell) for cell in ("1.234,5", "1234,5", "12")] == [1234.5, 1234.5, 12]


def test_words_are_no_numbers() -> None:
    for cell in ("", "-", "12a", "n/a", "e5", "1e", "--1", "1 000x"):
        assert not looks_like_number(cell), cell
    for sign, cell in itertools.product(("", "-", "+", "\u2212"), ("1", ".5", "1,5", "1 000", "12 %", "€5")):
        assert looks_like_number(sign + cell), cell
