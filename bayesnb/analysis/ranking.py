"""Features ranked by the weight they carry in the discriminant, with posterior intervals."""

from typing import Any

import numpy as np
import pandas as pd

from ..estimators._named import last_estimator
from ..estimators._suited import fitted_copy
from ..numerics.arrays import Scalar
from ..numerics.random import generator
from ..numerics.supports import check_least, check_level


def rank_features(
    estimator: Any,
    level: Scalar = 0.9,
    *,
    n_draws: int = 500,
    seed: int | np.random.Generator | None = 0,
    feature_names: Any = None,
) -> pd.DataFrame:
    """Features sorted by the size of their weight w in the linear discriminant, with credible intervals.

        log p(y = c | x, θ) = w_c · x + b_c + terms that are the same in all classes

    Two classes have one weight a feature, w_1 − w_0; a positive weight favours the second class. With more classes each
    class has its own weight, w_c minus the mean over all classes. A categorical feature has a weight for each of its
    levels.

    Parameters
    ----------
    estimator : a fitted estimator. Variants with a linear form have weights: Bernoulli, categorical, multinomial,
        complement, Poisson, geometric, exponential, and Gaussian with pooled or shared variance. The weight follows the
        current `estimate`. "predictive" plugs nothing in, so its weight is the median of the draws. For all other
        variants there is `importance`
    level : level of the interval, the central interval of the draws
    n_draws : number of exact draws of the parameters, which give the interval
    seed : seed of NumPy's generator
    feature_names : (d,) names of the features, or the fitted pipeline or transformer that made the rows. By default the
        columns of the data frame, otherwise 0 … d−1

    Returns
    -------
    pandas.DataFrame
        columns feature, class_ (with more than two classes), weight, low and high, in log odds (nats) for a unit of the
        feature

    Raises
    ------
    ValueError
        if `level` is not between 0 and 1, if the numbers of names and of features differ, or if the estimator has no
        linear form

    References
    ----------
    Guyon (2005), Naive Bayes algorithms in CLOP: features ranked by |w|, for two classes.

    Examples
    --------
    >>> from bayesnb import BernoulliNB, rank_features
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 1]], ["a", "a", "b", "b"]
    >>> rank_features(BernoulliNB().fit(X, y), feature_names=["first", "second"]).shape
    (2, 4)
    """
    # of a pipeline the last step, with the names that the pipeline has; a copy with these names, so that a fit in
    # another thread does not change it meanwhile
    step = last_estimator(estimator, feature_names)
    estimator = fitted_copy(step.estimator, step.feature_names)
    check_level(level)  # ValueError unless between 0 and 1
    check_least(1, n_draws=n_draws)  # ValueError unless a whole number of at least 1

    # What each of d weights belongs to, and its value by the current estimate of the parameters, in k columns: one for
    # two classes, or one for each of more classes.
    try:
        labels = estimator.model_.weight_labels  # (d,)
        weights = _contrasts(estimator)  # (d, k)
    except AttributeError:
        raise ValueError(
            f"`estimator` is {type(estimator).__name__}, and these log odds are not linear in the features, so "
            "there are no weights; rank the features by their information: importance(estimator, X, y)"
        ) from None

    # the weights under exact draws of the parameters, and their quantiles
    rng = generator(seed)
    draws = []
    for _ in range(n_draws):
        theta = estimator.posterior_.sample(rng)  # one draw of all parameters
        draws.append(_contrasts(estimator, theta))  # (d, k)
    levels = [(1 - level) / 2, 0.5, (1 + level) / 2]
    low, median, high = np.quantile(draws, levels, axis=0)  # (d, k) each
    if estimator.estimate == "predictive":  # which plugs no parameters in, and so has no weights of its own
        weights = median

    # A line for each weight. For two features and classes a, b, c the columns are 0 0 0 1 1 1 (`repeat`) and a b c a b
    # c (`tile`); `ravel` reads a table (d, k) line by line.
    d, k = weights.shape
    table = {"feature": np.repeat(labels, k)}
    if k > 1:
        table["class_"] = np.tile(estimator.classes_, d)
    table |= {"weight": weights.ravel(), "low": low.ravel(), "high": high.ravel()}
    return pd.DataFrame(table).sort_values("weight", key=abs, ascending=False, kind="stable", ignore_index=True)


def _contrasts(estimator: Any, theta: Any = None) -> np.ndarray:
    """Weights (d, 1) of the second of two classes against the first, or (d, c) of each class against the mean of all.

    The log joint probability is linear in the features, b_c + Σ_j w_jc x_j. So the log odds of class 1 against class 0
    have the weights w_j1 − w_j0, and those of class c against the geometric mean of all classes w_jc − mean_k w_jk.

    `theta` are the parameters; None for those of the current estimate.
    """
    weights, _ = estimator.model_.linear_form(theta)  # (d, c), and intercepts
    if weights.shape[1] == 2:
        return weights[:, 1:] - weights[:, :1]
    return weights - weights.mean(1, keepdims=True)
