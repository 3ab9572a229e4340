"""A fit replaces all that was learnt before, at once, and leaves the settings as they were."""

import numpy as np
import pandas as pd
import pytest
import sklearn

from bayesnb import CalibratedClassifierLOO, DiscriminativeNB, ForwardSelection, GaussianNB, fit_batches

FRAME = pd.DataFrame({"a": np.arange(12) % 3, "b": np.arange(12) % 2, "c": np.arange(12) % 4})
Y = np.arange(12) % 2


@pytest.mark.parametrize(
    "estimator", [ForwardSelection(), CalibratedClassifierLOO(GaussianNB()), DiscriminativeNB()], ids=lambda e: str(e)
)
def test_names_of_an_earlier_fit_go(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        estimator.set_fit_request(sample_weight=True)
        estimator.fit(FRAME, Y)
        assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
        before = estimator.get_params(deep=False)
        estimator.fit(FRAME.to_numpy(), Y)
        assert not hasattr(estimator, "feature_names_in_") and estimator.n_features_in_ == 3
        assert all(value is before[name] for name, value in estimator.get_params(deep=False).items())
        assert estimator.get_metadata_routing().fit.requests == {"sample_weight": True} | (
            {} if isinstance(estimator, ForwardSelection) else {"groups": None}
        )


def test_a_selection_that_fails_changes_nothing():
    selection = ForwardSelection().fit(FRAME, Y)
    before = vars(selection).copy()
    with pytest.raises(ValueError, match="no column with two observed categories"):
        selection.fit(pd.DataFrame({"constant": np.zeros(12, int)}), Y)
    assert vars(selection) == before


def test_batches_replace_an_earlier_fit_and_keep_the_settings():
    nb = GaussianNB(estimate="mean").fit(FRAME, Y)
    fit_batches(nb, [(FRAME.to_numpy()[:6], Y[:6]), (FRAME.to_numpy()[6:], Y[6:])])
    assert not hasattr(nb, "feature_names_in_") and nb.estimate == "mean"
    assert nb.class_count_.tolist() == [6, 6]
