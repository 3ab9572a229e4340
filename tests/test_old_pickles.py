"""Pickles of version 0.1 are read, predict what they predicted, and go on learning."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

import bayesnb

SAVED = pickle.loads(Path(__file__).with_name("saved").joinpath("version_0.1.pickle").read_bytes())


# a public name that goes has to be removed from tests/saved/public_surface.txt, too
@pytest.mark.parametrize("name", [name for name in SAVED if name.partition("(")[0] in bayesnb.__all__])
def test_a_pickle_of_the_first_version(name: str) -> None:
    pickled, X, proba = SAVED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        nb = pickle.loads(pickled)
    np.testing.assert_allclose(nb.predict_proba(X), proba, rtol=1e-9)
    if hasattr(nb, "partial_fit"):
        held = nb.class_count_.sum()
        assert nb.partial_fit(X[:3], ["a", "b", "c"]).class_count_.sum() == held + 3
