"""Dates as year, month, weekday and hour: found in the cells, saved with the model, and read alike in new files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesnb
from bayesnb.cli import main
from bayesnb.tables.dates import date_order, moment

N = 120
RNG = np.random.default_rng(0)
WHEN = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 700 * 24, N), unit="h"))
IS_SUMMER = WHEN.dt.month.isin([6, 7, 8]).to_numpy()
TABLE = pd.DataFrame({"ordered": WHEN, "size": RNG.normal(size=N).round(2), "kind": np.where(IS_SUMMER, "ice", "tea")})
FORMATS = {
    "%d.%m.%Y %H:%M": "dmy",
    "%Y-%m-%dT%H:%M:%SZ": "ymd",
    "%m/%d/%y, %I:%M %p": "mdy",
    "%d-%m-%Y %H:%M:%S": "dmy",
    "%Y%m%d %H:%M": "ymd",
}
PARTS = ["ordered.year", "ordered.month", "ordered.weekday", "ordered.hour"]


def expected() -> pd.DataFrame:
    """The parts by pandas."""
    parts = [WHEN.dt.year.astype(float), WHEN.dt.month_name(), WHEN.dt.day_name(), WHEN.dt.strftime("%Hh")]
    return pd.DataFrame(dict(zip(PARTS, parts, strict=True))).astype(dict.fromkeys(PARTS[1:], object))


@pytest.mark.parametrize("written", FORMATS)
def test_text_is_read_as_pandas_reads_it(written):
    table = TABLE.assign(ordered=WHEN.dt.strftime(written))
    contract = bayesnb.describe(table, "kind", columns={"ordered": "date"})
    assert contract["ordered"].role == "date"
    assert contract["ordered"].date_order == FORMATS[written]
    assert [contract[name].role for name in PARTS] == ["numbers", "levels", "levels", "levels"]
    assert contract["ordered.month"].why == "month of 'ordered'"
    pd.testing.assert_frame_equal(contract.apply(table)[PARTS], expected())
    # what was read once is not read again
    applied = contract.apply(table)
    pd.testing.assert_frame_equal(contract.apply(applied), applied)


def test_dates_of_pandas_numbers_and_days_without_a_time():
    typed = bayesnb.describe(TABLE, "kind", columns={"ordered": "date"}).apply(TABLE)
    pd.testing.assert_frame_equal(typed[PARTS], expected())
    for days in (WHEN.dt.normalize(), WHEN.dt.strftime("%Y%m%d").astype(int), WHEN.dt.date):
        table = TABLE.assign(ordered=days)
        applied = bayesnb.describe(table, "kind", columns={"ordered": "date"}).apply(table)
        pd.testing.assert_frame_equal(applied[PARTS[:3]], expected()[PARTS[:3]])
        assert "ordered.hour" not in applied


def test_missing_dates_are_missing_parts():
    cells = WHEN.dt.strftime("%Y-%m-%d").astype(object)
    cells[:3] = [None, "?", ""]
    table = TABLE.assign(ordered=cells)
    contract = bayesnb.describe(table, "kind", columns={"ordered": "date"})
    assert contract.apply(table)[PARTS[:3]].iloc[:4].isna().all(axis=1).tolist() == [True, True, True, False]
    assert contract["ordered"].missing == pytest.approx(3 / N)


def test_day_and_month():
    assert date_order(["01/02/2024", "13/02/2024"]) == "dmy"
    assert date_order(["01/02/2024", "01/13/2024"]) == "mdy"
    assert date_order(["01.02.2024"]) == "dmy"  # points are written so
    assert date_order(["24-01-31", "99-12-01"]) == "ymd"
    with pytest.raises(ValueError, match="'01/02/2024' may have the day or the month in front"):
        date_order(["01/02/2024", "03/02/2024"])
    assert moment("31.04.2024", "dmy") is None  # there is no such day
    assert moment("1.1.68", "dmy").year == 2068 and moment("1.1.69", "dmy").year == 1969
    assert moment("12/31/2024 12:05 AM", "mdy").hour == 0 and moment("12/31/2024 12:05 pm", "mdy").hour == 12

    table = TABLE.assign(ordered=[f"0{1 + i % 9}/0{1 + i % 8}/2024" for i in range(N)])
    with pytest.raises(ValueError, match=r"column 'ordered': .*ask for ordered=date:dmy or ordered=date:mdy"):
        bayesnb.describe(table, "kind", columns={"ordered": "date"})
    month = {
        order: bayesnb.describe(table, columns={"ordered": f"date:{order}"}).apply(table)["ordered.month"][1]
        for order in ("dmy", "mdy")
    }
    assert month == {"dmy": "February", "mdy": "February"}
    assert bayesnb.describe(table, columns={"ordered": "date:mdy"})["ordered.year"].role == "dropped"  # the same in all


def test_what_is_no_date_is_refused():
    for cells, message in [
        (
            TABLE.ordered.astype(str).where(TABLE.index != 5, "soon"),
            "column 'ordered' holds 'soon', not a date written as",
        ),
        (TABLE["size"], "column 'ordered' holds .* not a date"),
    ]:
        with pytest.raises(ValueError, match=message):
            bayesnb.describe(TABLE.assign(ordered=cells), "kind", columns={"ordered": "date"})
    with pytest.raises(ValueError, match=r"there is a column 'ordered.month', which is a part of the date"):
        bayesnb.describe(TABLE.assign(**{"ordered.month": 1}), columns={"ordered": "date"})
    with pytest.raises(ValueError, match=r"`columns` has the role 'dates'; choose one of .*levels, date and drop; did"):
        bayesnb.describe(TABLE, columns={"ordered": "dates"})
    contract = bayesnb.describe(TABLE, "kind", columns={"ordered": "date"})
    with pytest.raises(ValueError, match="`table` has no column 'ordered', which"):
        contract.apply(TABLE.drop(columns="ordered"))
    # a part may have another role, or none, and nobody asks for dates in vain
    fewer = bayesnb.describe(TABLE, "kind", columns={"ordered": "date"}, drop=["ordered.hour"])
    assert list(fewer.apply(TABLE)) == [*PARTS[:3], "size"]
    assert bayesnb.describe(TABLE)["ordered"].warning == "ordered=date uses its year, month, weekday and hour"
    times = TABLE.assign(ordered=WHEN.dt.strftime("%H:%M"))
    assert bayesnb.describe(times)["ordered"].warning == "ordered=levels uses it"


@pytest.mark.slow
def test_fit_and_predict_read_alike(tmp_path: Path, capsys):
    """The order is that of the training file, though the new one does not show it; later rows have another year."""
    written = TABLE.assign(ordered=WHEN.sort_values().dt.strftime("%d/%m/%Y").to_numpy())
    written["kind"] = np.where(IS_SUMMER[WHEN.sort_values().index], "ice", "tea")
    written.to_csv(tmp_path / "old.csv", index=False)
    model = str(tmp_path / "model.safetensors")
    assert main(["fit", f"{tmp_path}/old.csv", "--target", "kind", "--columns", "ordered=date", "-o", model]) == 0
    assert "month of 'ordered'" in capsys.readouterr().out
    new = pd.DataFrame({"ordered": ["05/07/2024", "07/05/2024", "07/05/2031"], "size": 0.1})
    new.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", model, f"{tmp_path}/new.csv", "-o", f"{tmp_path}/out.csv"]) == 0
    assert pd.read_csv(tmp_path / "out.csv").predicted.tolist()[:2] == ["ice", "tea"]
    assert "column 'ordered.year': 1 rows lie far outside" in capsys.readouterr().err
    pd.DataFrame({"ordered": ["2024-07-05"], "size": 0.1}).to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", model, f"{tmp_path}/new.csv"]) == 2
    error = capsys.readouterr().err
    assert "line 2: column 'ordered' holds '2024-07-05', not a date written as day, month, year" in error


def test_a_year_may_be_new_further_down(tmp_path: Path, monkeypatch):
    """The first piece of a file has one year only, which is left out; later pieces are no contradiction."""
    monkeypatch.setattr("bayesnb.tables.readers.HEAD", 2000)
    table = TABLE.assign(ordered=[f"{2024 + i // 90}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)])
    pd.concat([table] * 3).sort_values("ordered").to_csv(tmp_path / "long.csv", index=False)
    data = bayesnb.datasets.read_table(tmp_path / "long.csv", "kind", columns={"ordered": "date"})
    assert data.contract["ordered.year"].role == "dropped"
    assert len(data.X) == 3 * N
