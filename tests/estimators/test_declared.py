"""An estimator declares its family, and what it takes follows from the cells that the family declares."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from bayesnb import FamilyNB, MixedNB, OneDependenceNB, families
from bayesnb.estimators._automatic import parts_of_roles

from ..estimators_table import GIVEN_BANDWIDTH
from ..laws import OF_WHOLE_CELLS

OWN = [
    FamilyNB(families.LogNormal(0.0, 1.0, 1.0, 1.0)),
    *(FamilyNB(kind(1.0, 1.0)) for kind in OF_WHOLE_CELLS),
    FamilyNB(families.BetaBernoulli(1.0, 1.0)),
]


@pytest.mark.parametrize("nb", [*GIVEN_BANDWIDTH, OneDependenceNB(), *OWN], ids=repr)
def test_cells_are_those_of_every_block(nb: Any) -> None:
    """Also where a setting chooses another family than the one that the class names."""
    tags = nb.__sklearn_tags__().input_tags
    assert tags.sparse == nb.cells.sparse
    X = (
        np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1))
        if nb.cells.kind == "yes/no"
        else np.arange(12.0).reshape(6, 2) % 5 + 1
    )
    fitted = clone(nb).fit(X, [0, 1] * 3)
    for block in fitted.posterior_.blocks.values():
        found = block.inner.cells_
        assert (found.kind, found.whole, found.measure) == (nb.cells.kind, nb.cells.whole, nb.cells.measure)
        assert found.sparse or not nb.cells.sparse
        assert block.inner.missing_value is not None or not tags.allow_nan


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
