"""An estimator declares its family, and what it takes follows from the cells that the family declares."""

from typing import Any

import pytest

from bayesnb import FamilyNB, MixedNB, families
from bayesnb.estimators._automatic import parts_of_roles


def test_auto_takes_the_estimator_whose_cells_have_the_role() -> None:
    parts = parts_of_roles(["levels", "numbers", "yes/no", "dropped", "counts", "numbers"])
    assert [(name, at) for name, _, at in parts] == [
        ("yes_no", [2]),
        ("numbers", [1, 5]),
        ("counts", [4]),
        ("levels", [0]),
        ("dropped", [3]),
    ]
    assert [nb.cells.role for _, nb, _ in parts[:-1]] == ["yes/no", "numbers", "counts", "levels"]


@pytest.mark.parametrize(
    ("nb", "X", "said"),
    [
        (families.BetaBernoulli(1.0, 1.0), [[2.0], [1.0]], "other than 0 and 1.* has 2 in column 0"),
        (
            families.LogNormal(0.0, 1.0, 1.0, 1.0),
            [[0.0], [1.0]],
            "has 0 in column 0; a cell of LogNormal is a number above 0",
        ),
    ],
    ids=["yes/no", "positive"],
)
def test_a_cell_that_the_family_does_not_know_is_named(nb: Any, X: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FamilyNB(nb).fit(X, [0, 1])
    with pytest.raises(ValueError, match=said):
        MixedNB([("one", FamilyNB(nb), [0])]).fit(X, [0, 1])
