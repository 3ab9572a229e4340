"""Pickles of version 0.1 are read, predict what they predicted, and go on learning."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

SAVED = pickle.loads(Path(__file__).with_name("saved").joinpath("version_0.1.pickle").read_bytes())


@pytest.mark.parametrize("name", SAVED)
def test_a_pickle_of_the_first_version(name: str) -> None:
    pickled, X, proba = SAVED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        nb = pickle.loads(pickled)
    np.testing.assert_allclose(nb.predict_proba(X), proba, rtol=1e-9)
    if hasattr(nb, "partial_fit"):
        held = nb.class_count_.sum()
        assert nb.partial_fit(X[:3], ["a", "b", "c"]).class_count_.sum() == held + 3
