"""Numbers written as text: every format is read as one, and what can be read in two ways is not read."""

from typing import Any

import pandas as pd
import pytest

from bayesnb.tables.number_text import NumberFormat, number_format

NUMBERS = [0.5, 3.25, 12.0, 1234.5, 1234567.25, -42.75]


def found_in(cells: list[str], **given: Any) -> NumberFormat:
    found = number_format(pd.Series(cells, dtype="str"), **given)
    assert found is not None
    return found


def read(form: NumberFormat, cells: list[str]) -> list[float]:
    return form.read(pd.Series(cells, dtype="str")).tolist()


@pytest.mark.parametrize(("decimal", "thousands"), [(".", ","), (",", "."), (",", " "), (".", "'"), (",", "")])
def test_a_format_is_found_and_read(decimal: str, thousands: str) -> None:
    swap = str.maketrans({".": decimal, ",": thousands or "_"})
    for sign in ("", "%", "€", "CHF"):
        cells = [f"{x:,.2f}".translate(swap).replace("_", "") + (f" {sign}" if sign else "") for x in NUMBERS]
        found = found_in(cells)
        assert found == NumberFormat(decimal, thousands, sign)
        assert found.is_plain == (decimal == "." and not thousands and not sign)
        assert read(found, cells) == NUMBERS


def test_cells_settle_what_separators_mean() -> None:
    for cells, expected in (
        (["1.234.567"], [1234567.0]),
        (["1.234.567", "15.018"], [1234567.0, 15018.0]),
        (["0.123", "15.018"], [0.123, 15.018]),
        (["1234.567", "15.018"], [1234.567, 15.018]),
        (["3,5", "15.018"], [3.5, 15018.0]),
        (["-3,5 €", "€ 7"], [-3.5, 7.0]),
        (["$-12.5", "-$12.5"], [-12.5, -12.5]),
        (["1e3", "2.5E-1"], [1000.0, 0.25]),
        (["7", "12"], [7.0, 12.0]),
        (["-inf", "5"], [float("-inf"), 5.0]),
        (["TRUE", "false"], [1.0, 0.0]),
    ):
        assert read(found_in(cells), cells) == expected


def test_what_can_be_read_in_two_ways_is_not_read() -> None:
    for separator, other in ((".", ","), (",", ".")):
        cells = [f"15{separator}018", f"7{separator}250", "12"]
        with pytest.raises(ValueError, match=rf"may be 15018 or 15\.018.*--decimal \{separator} or --thousands"):
            found_in(cells)
        for given in ({"decimal": other}, {"thousands": separator}, {"clear": other}):
            assert read(found_in(cells, **given), cells)[0] == 15018
        for given in ({"decimal": separator}, {"thousands": other}, {"clear": separator}):
            assert read(found_in(cells, **given), cells)[0] == 15.018
    with pytest.raises(ValueError, match=r"'1\.5' is no number with these separators"):
        found_in(["2,5", "1.5"], decimal=",")


def test_cells_of_no_one_format_are_no_numbers() -> None:
    for cells in (["192.168.1.1"], ["1.2.3"], ["5 €", "5 $"], ["5 %", "5"], ["1,5", "1.5"], ["1.234,5", "1,234.5"]):
        assert number_format(pd.Series(cells, dtype="str")) is None, cells


def test_no_cell_is_read_leniently() -> None:
    """A separator between anything but groups of three makes a cell no number; so does a sign of another format."""
    cells = ["3.14", "1.23", "1234.567", "1.2345,6", "1,2,3", "12 %", "", "x", "1.234.56", "12e", "e5", "--1", "1 000"]
    assert pd.isna(read(NumberFormat(",", "."), cells)).all()
    assert read(NumberFormat(",", "."), ["1.234,5", "1234,5", "12", ",5"]) == [1234.5, 1234.5, 12, 0.5]
    assert pd.isna(read(NumberFormat(), ["15.018", "15,018"])).all()  # it was not shown which
