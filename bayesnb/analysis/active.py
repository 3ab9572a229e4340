"""Which row to label next: the one whose label would say most about the parameters.

    I(y; θ | x) = H[E_θ p(y | x, θ)] − E_θ H[p(y | x, θ)]    in nats, θ from the posterior

the epistemic part of a row's uncertainty. It is large where parameters that the data still allow disagree about the
label, and small where the label is certain, and also where it is a coin toss under all of them. MacKay (1992),
Information-based objective functions for active data selection, Neural Computation 4; Houlsby et al. (2011), Bayesian
active learning for classification and preference learning, arXiv:1112.5745, eq. (2).

θ is drawn from what the labelled rows leave; that naive Bayes could also learn from the features of the new row, before
its label comes, is left out of the measure, as there.
"""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..core.arrays import Float, Int
from ..inference.intervals import Uncertainty


def expected_information(estimator: Any, X: Any, **settings: Any) -> Float[np.ndarray, " n"]:
    """Mutual information of a row's label and the parameters, in nats: the expected information of labelling the row.

    Parameters
    ----------
    estimator : a fitted estimator, or a pipeline that ends in one
    X : (n, d) rows without labels
    settings : `method`, `n_draws` and `seed`, as in the estimator's `uncertainty`

    Raises
    ------
    ValueError
        if the estimator has no `uncertainty`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB
    >>> from bayesnb.analysis.active import expected_information
    >>> nb = GaussianNB().fit(X[::10], y[::10])
    >>> expected_information(nb, X[[0, 70]]).round(2)  # nats
    array([0.  , 0.16])
    """
    return split_uncertainty(estimator, X, **settings).epistemic


def most_informative(estimator: Any, X: Any, n: int = 1, **settings: Any) -> Int[np.ndarray, " k"]:
    """Indices of the n rows with the largest expected information, largest first; ties are in the order of the rows.

    Each row is judged on its own. Similar rows share information, so ask for few rows at a time. `settings` are those
    of `expected_information`.

    Raises
    ------
    ValueError
        if n is not between 1 and the number of rows, or the estimator has no `uncertainty`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB, most_informative
    >>> nb = GaussianNB().fit(X[::10], y[::10])
    >>> most_informative(nb, X, n=2)
    array([41, 15])
    """
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if not 1 <= n <= rows:
        raise ValueError(f"`n` is {n}; it needs to be at least 1 and at most the {rows} rows of `X`")
    return np.argsort(-expected_information(estimator, X, **settings), kind="stable")[:n]


def split_uncertainty(estimator: Any, X: Any, **settings: Any) -> Uncertainty:
    """The estimator's `uncertainty`, behind the transforming steps of a pipeline if there are any."""
    if isinstance(estimator, Pipeline):
        return split_uncertainty(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X, **settings)
    if not hasattr(estimator, "uncertainty"):
        raise ValueError(
            f"`estimator` is {type(estimator).__name__}, which has no `uncertainty`; use an estimator of bayesnb, or "
            "a pipeline that ends in one"
        )
    return estimator.uncertainty(X, **settings)
