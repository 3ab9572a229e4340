"""Roles and separators that a column contradicts are refused, and the message names the column."""

import numpy as np
import pandas as pd
import pytest

import bayesnb

TABLE = pd.DataFrame(
    {
        "share": [0.5, 1.5, 2.25, 0.75] * 5,
        "debt": [-1, 2, 3, 4] * 5,
        "day": pd.to_datetime(["2026-01-01", "2026-01-02", "2026-02-01", "2026-03-01"] * 5),
        "town": pd.Categorical(["north", "south"] * 10),
        "word": ["red", "blue", "green", "red"] * 5,
        "price": ["1,50", "2,25", "3.75", "4,00"] * 5,
        "huge": ["1" + "0" * 400 + ".5", "2.5", "3.5", "4.5"] * 5,
        "change": ["-1.5", "2.5", "3.5", "4.5"] * 5,
    }
)


@pytest.mark.parametrize(
    ("column", "role", "said"),
    [
        ("share", "counts", "column 'share' holds fractions; counts are whole numbers from 0 on"),
        ("debt", "counts", r"column 'debt' holds -1\.0; counts are whole numbers"),
        ("share", "yes/no", "column 'share' holds other values than 0 and 1; choose the role numbers or levels"),
        ("day", "counts", "column 'day' holds dates, which cannot be counts; choose the role numbers or levels"),
        ("town", "numbers", "column 'town' holds levels, so it cannot be numbers; choose the role levels"),
        ("word", "numbers", "column 'word' holds text such as .*, so it cannot be numbers; choose the role levels"),
        ("change", "counts", r"column 'change' holds -1\.5; counts are whole numbers"),
        ("huge", "numbers", "column 'huge' holds 1000.*…, which is too large for a float; rescale the column"),
    ],
)
def test_roles(column: str, role: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bayesnb.describe(TABLE[[column]], columns={column: role})


def test_separators() -> None:
    with pytest.raises(ValueError, match="`decimal` is 'comma'; it needs to be one character"):
        bayesnb.describe(TABLE, decimal="comma")
    with pytest.raises(ValueError, match="`decimal` and `thousands` are both ','; they need to differ"):
        bayesnb.describe(TABLE, decimal=",", thousands=",")
    with pytest.raises(ValueError, match="there is no column 'prize'; the columns are share, debt"):
        bayesnb.describe(TABLE, columns={"prize": "numbers"})
    with pytest.raises(ValueError, match=r"column 'price' cannot be read as numbers: .* different formats"):
        bayesnb.describe(TABLE[["price"]], columns={"price": "numbers"})
    with pytest.raises(ValueError, match=r"column 'price' holds '3\.75', which is not a number with"):
        bayesnb.describe(TABLE[["price"]], decimal=",", columns={"price": "numbers"})


def test_dates_and_rows() -> None:
    asked = bayesnb.describe(TABLE[["day", "town"]], columns={"day": "levels"})
    assert [column.role for column in asked.columns] == ["levels", "levels"]
    assert bayesnb.describe(TABLE[["day", "town"]]).columns[0].role == "dropped"
    numbered = TABLE[["town"]].assign(place=[str(k) for k in range(1, 21)], cells=[[1, 2]] * 20)
    by_name = {column.name: column for column in bayesnb.describe(numbered).columns}
    assert (by_name["place"].role, by_name["cells"].why) == ("dropped", "cells of several values")
    assert "follow each other" in by_name["place"].why
    assert np.isfinite(by_name["place"].low)
