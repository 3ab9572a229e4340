"""How much information each feature has about the label: mutual information under the posterior."""

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.supports import check_least, check_level


def importance(
    estimator: Any,
    level: Scalar = 0.9,
    *,
    n_draws: int = 500,
    seed: int | np.random.Generator | None = 0,
    feature_names: Any = None,
) -> pd.DataFrame:
    """Mutual information of each feature with the label, in nats, largest first, with credible intervals.

        I(y; x_j | θ) = Σ_c π_c ∫ p(x_j | c, θ) log [p(x_j | c, θ) / Σ_k π_k p(x_j | k, θ)] dx_j

    This is the information that one feature alone has about the label. It lies between 0 and the entropy of the label.
    It does not depend on the unit of the feature, and it is defined for every variant. Two copies of a feature have the
    same importance.

    Parameters
    ----------
    estimator : a fitted estimator of any variant
    level : level of the interval, the central interval of the draws
    n_draws, seed : number and seed of the exact draws of the parameters, which give the mean and the interval
    feature_names : (d,) names of the features, by default the columns of the data frame, otherwise 0 … d−1

    Returns
    -------
    pandas.DataFrame
        columns feature, information (the posterior mean), low and high, in nats

    Raises
    ------
    ValueError
        if `level` or `n_draws` is out of range, or if the numbers of names and of features differ

    Notes
    -----
    With few rows, drawn parameters differ between classes by chance. The information of a feature that has none is then
    above 0, with an interval that begins near 0. With `MultinomialNB` and `ComplementNB` it is the information in one
    event: whether the event is of kind j. Real numbers and large counts are summed over up to 512 nodes. For normal
    classes the error was below 0.005 nats.

    References
    ----------
    Cover & Thomas (2006), Elements of Information Theory, 2nd ed., (2.28).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import GaussianNB, importance
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 1] += 3 * y
    >>> table = importance(GaussianNB().fit(X, y))
    >>> table.feature.tolist(), bool(table.information[0] > 0.4)
    ([1, 0], True)
    """
    estimator = named(estimator, feature_names)
    check_level(level)
    check_least(1, n_draws=n_draws)
    draws = estimator.sample_information(n_draws, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    mean = draws.mean(0)
    table = pd.DataFrame({"feature": estimator.feature_names(), "information": mean, "low": low, "high": high})
    return table.iloc[np.argsort(-mean, kind="stable")].reset_index(drop=True)


def named(estimator: Any, names: Any) -> Any:
    """A copy of the estimator that calls its features by other names, if given; ValueError unless each has one."""
    check_is_fitted(estimator)
    estimator = copy(estimator)  # one state, whatever another thread fits meanwhile
    if names is None:
        return estimator
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"`feature_names` has {len(names)} names, but the model has {estimator.n_features_in_} features; give one "
            "name for each"
        )
    estimator.feature_names_in_ = np.asarray(names, object)
    return estimator
