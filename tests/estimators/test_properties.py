"""Any input at all, drawn by hypothesis: finite probabilities, or an error that names what is wrong."""

import re
import warnings
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, MixedNB

from ..estimators_table import GIVEN_BANDWIDTH

EVERY = [BernoulliNB(binarize=0, alpha="clop"), *GIVEN_BANDWIDTH, MixedNB()]


# the same examples on every run; what fails is small as it is
same = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
law = settings(max_examples=15, phases=(Phase.explicit, Phase.generate), **same)


SCALARS = st.one_of(
    st.integers(-3, 6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([None, np.nan, np.inf, -np.inf, True, "a", "", "1.5", pd.NA, pd.Timestamp(0), 1j, b"x", (1, 2)]),
)
DTYPES = ["int8", "uint64", "float16", "float32", "float64", ">f8", "bool", "complex64", "datetime64[s]", "U3", "S2"]
NAMES_THE_ARGUMENT = re.compile(
    r"\b(X|y|sample_weight|classes|estimate|column)\b|\bdata\b|ample weights|labels?\b|feature names|singular"
)


@st.composite
def anything(draw: Any, rows: int) -> Any:
    """Something that might be handed over as X."""
    n = draw(st.sampled_from([rows, rows, rows, 0, rows + 1]))
    d = draw(st.sampled_from([2, 2, 2, 1, 0, 3]))
    kind = draw(st.sampled_from(["typed", "objects", "frame", "sparse", "lists", "odd", "typed", "same"]))
    if kind == "typed":
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        return draw(hnp.arrays(dtype, (n, d), elements=hnp.from_dtype(dtype)))
    if kind == "same":
        return np.repeat(draw(hnp.arrays(float, (n, 1), elements=st.floats(-1e9, 1e9))), max(d, 1), axis=1)
    cells = draw(st.lists(st.lists(SCALARS, min_size=d, max_size=d), min_size=n, max_size=n))
    if kind == "objects":
        return pd.DataFrame(cells, columns=range(d), dtype=object).to_numpy()
    if kind == "frame":
        columns = draw(st.sampled_from([["a", "b", "c"], ["a", "a", "a"], [0, 1, 2], ["a", 1, None]]))
        return pd.DataFrame(cells, columns=columns[:d] if d else None)
    if kind == "sparse":
        dense = draw(hnp.arrays(float, (n, d), elements=st.sampled_from([0, 0, 1, 2, -1, np.nan, np.inf, 1e308])))
        return draw(st.sampled_from([sparse.csr_array, sparse.csc_matrix, sparse.coo_array]))(dense)
    if kind == "lists":
        return cells
    return draw(st.sampled_from([None, 3, "table", {"a": [1, 2]}, object(), np.array(None), pd.Series([1.0, 2.0])]))


LABELS = [
    [0, 1] * 2,
    list("abab"),
    [True, False, True, True],
    [7] * 4,
    [0, 1, 2, 1],
    [0.5, 1.5, 2.0, 3.0],
    [1, "a"] * 2,
]
ODD = [None, 3, "ab", [0, 1, 0], [], np.zeros((4, 2)), np.zeros((4, 1)), pd.Series([None] * 4), [0, np.nan, 1, 1j]]


@pytest.mark.parametrize("nb", EVERY, ids=repr)
@law
@given(data=st.data())
def test_no_input_brings_an_estimator_down(nb: Any, data: Any) -> None:
    """A call ends in finite probabilities, or in a ValueError or TypeError that names what is wrong."""
    X, y = data.draw(anything(4)), data.draw(st.sampled_from(LABELS) | st.sampled_from(LABELS) | st.sampled_from(ODD))
    weights = None, None, None, np.ones(4), np.zeros(4), -np.ones(4), "w", [np.inf], np.full(4, 1e300)
    weight = data.draw(st.sampled_from(weights))
    fresh = data.draw(anything(3))
    classes = data.draw(st.sampled_from([[0, 1, 2], ["a", "b"], [True, False], [1, "a"], None, 3, [[0, 1]], [None]]))
    estimate = data.draw(st.sampled_from(["predictive", "mean", "map", "mle"]))
    model = clone(nb).set_params(estimate=estimate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # names that are missing, modes on the boundary, columns of labels
        try:
            if data.draw(st.booleans()):
                model.fit(X, y, weight)
            else:
                model.partial_fit(X, y, classes, weight)
        except (ValueError, TypeError) as error:
            assert NAMES_THE_ARGUMENT.search(str(error)), f"{type(error).__name__}: {error}"
            assert not hasattr(model, "posterior_")
            return
        for rows_asked in (X, fresh):
            try:
                p = model.predict_proba(rows_asked)
            except (ValueError, TypeError) as error:
                assert NAMES_THE_ARGUMENT.search(str(error)), f"{type(error).__name__}: {error}"
                continue
            assert np.isfinite(p).all()
            np.testing.assert_allclose(p.sum(1), 1, rtol=1e-9)
            assert set(model.predict(rows_asked)) <= set(model.classes_)
