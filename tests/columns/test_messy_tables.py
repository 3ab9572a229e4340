"""Ten tables as offices have them: what is read, said and used, and that nothing is lost by the defaults.

Each is made from one clean table. The measure is the leave-one-out accuracy of that table cleaned by hand: every column
with its true type, and missing cells where the mess has no value.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesnb import cli, describe
from bayesnb.datasets import TableError, read_table
from bayesnb.estimators._by_name import choose_model
from bayesnb.estimators.mixed import MixedNB

N = 200


def clean() -> pd.DataFrame:
    """Orders of three kinds of customer."""
    rng = np.random.default_rng(7)
    kind = rng.choice(["shop", "office", "school"], N)
    shift = pd.Series(kind).map({"shop": 0.0, "office": 1.2, "school": 2.0}).to_numpy()
    return pd.DataFrame(
        {
            "price": (np.exp(rng.normal(7.5 + shift, 0.8)) * 100).round() / 100,
            "weight": (rng.normal(3 + shift, 1) * 100).round() / 100,
            "share": (100 / (1 + np.exp(-rng.normal(shift - 1, 1)))).round(1),
            "colour": np.where(rng.random(N) < 0.2 + shift / 4, "red", rng.choice(["blue", "green"], N)),
            "urgent": (rng.random(N) < 0.2 + 0.3 * (shift > 1.5)).astype(int),
            "kind": kind,
        }
    )


def european(x: float, digits: int = 2) -> str:
    """A number as 1.234,50."""
    return f"{x:,.{digits}f}".translate(str.maketrans(",.", ".,"))


COMMAS = (  # how a table is made of the clean one, the roles that its columns have, and a part of what is said of them
    lambda t: t.assign(price=t["price"].map(european), weight=t["weight"].map(european)),
    {"price": "numbers", "weight": "numbers", "colour": "levels", "urgent": "yes/no"},
    {"price": "numbers written as text, such as 2.622,12", "urgent": "zeros and ones"},
    {"sep": ";", "encoding": "utf-8-sig"},
)
SIGNS = (
    lambda t: t.assign(
        share=t["share"].map("{:.1f} %".format),
        price=t["price"].map("€{:,.2f}".format),
        zip=80000 + t.index % 9,
        row=range(1, N + 1),
        phone=[300_000_001 + 7919 * i for i in range(N)],
        name=[f"Mrs {chr(65 + i % 26)}. {i * 7 % 997}son" for i in range(N)],
    ),
    dict.fromkeys(["share", "price", "zip"], "numbers") | dict.fromkeys(["row", "phone", "name"], "dropped"),
    {
        "share": "such as 48.1 %",
        "price": "such as €2,622.12",
        "zip": "whole numbers",
        "name": "identifies the row: every value differs; name=levels uses it",
    },
    {},
)


@pytest.mark.parametrize(("make", "roles", "said", "write"), [COMMAS, SIGNS], ids=["commas", "signs and identifiers"])
def test_a_messy_table(make: Any, roles: dict[str, str], said: dict[str, str], write: Any, tmp_path: Path) -> None:
    path, table = tmp_path / "orders.csv", clean()
    make(table).to_csv(path, index=False, **write)
    data = read_table(path, "kind")
    assert data.contract is not None
    for name, role in roles.items():
        assert data.contract[name].role == role, str(data.contract)
        assert (name in data.X) == (role != "dropped")
    shown = str(data.contract)
    for name, part in said.items():
        line = next(line for line in shown.splitlines() if line[2:].startswith(f"{name} "))
        assert part in line
    for name in ("price", "weight", "share"):  # the numbers of the clean table, and no others
        np.testing.assert_allclose(data.X[name].to_numpy(float), table[name], rtol=1e-12)
    X, y = table.drop(columns="kind"), table["kind"].to_numpy()
    chosen = choose_model(data.X, "auto", data.contract).fit(data.X, data.y).loo(data.X, data.y)
    assert chosen.accuracy >= MixedNB().fit(X, y).loo(X, y).accuracy > 0.7  # counts of rows over all rows: no slack


def test_numbers_that_can_be_read_in_two_ways_are_read_as_asked(tmp_path: Path) -> None:
    path, model = tmp_path / "orders.csv", str(tmp_path / "m")
    clean()[["urgent", "kind"]].assign(price=[f"{15 + i}.018" for i in range(N)]).to_csv(path, index=False, sep=";")
    arguments = ["fit", str(path), "--target", "kind", "--model", "plain", "-o", model]
    assert cli.main(arguments) == 2
    for name, mark, first in (("decimal", ".", 15.018), ("thousands", ".", 15018.0), ("decimal", ",", 15018.0)):
        assert cli.main([*arguments, f"--{name}", mark]) == 0
        assert read_table(path, "kind", **{name: mark}).X["price"][0] == first


def test_a_date_has_digits_only() -> None:
    for cells, role in (
        (["octane 95", "octane 98"], "levels"),
        (["Mars 20", "Mars 30", "Junior 11"], "levels"),
        (["Jun 123", "Jul 456"], "levels"),
        (["3.3.2024", "12/12/24"], "dropped"),
        (["2024-12-31 12:00", "2024-11"], "dropped"),
        (["08:30", "17:45:10"], "dropped"),
    ):
        assert describe(pd.DataFrame({"when": cells * 20}))["when"].role == role


def test_a_target_of_numbers_in_any_format_is_a_measurement(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    for cell in ("1.{},50", "1.{}.000", "{},5", "{} €", "1,{}", "1'{}.5"):
        clean().assign(price=[cell.format(100 + i) for i in range(N)]).to_csv(path, index=False, sep=";")
        with pytest.raises(TableError, match=r"'price' holds (200 different numbers|measurements such as)"):
            read_table(path, "price")
    table = clean().assign(size=["1,5", "2,0"] * (N // 2), dose=["2,5 %", "5 %"] * (N // 2))
    table = table.drop(columns=["price", "weight", "share"])
    table.to_csv(path, index=False, sep=";")
    with pytest.raises(TableError, match="'size' holds measurements such as 1,5, not classes"):
        read_table(path, "size")
    assert set(read_table(path, "dose").y) == {"2,5 %", "5 %"}
