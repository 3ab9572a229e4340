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

from ..estimators._suited import check_own
from ..numerics.arrays import Int
from ..numerics.supports import check_least


def most_informative(estimator: Any, X: Any, n: int = 1, **settings: Any) -> Int[np.ndarray, " k"]:
    """Indices of the n rows with the largest expected information, largest first; ties are in the order of the rows.

    Each row is judged on its own. Similar rows share information, so ask for few rows at a time.

    Parameters
    ----------
    estimator : a fitted estimator of bayesnb
    X : (n, d) rows without labels
    n : number of rows
    settings : `method`, `n_draws` and `seed`, as in the estimator's `uncertainty`

    Raises
    ------
    ValueError
        if n is not between 1 and the number of rows

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB, most_informative
    >>> nb = GaussianNB().fit(X[::10], y[::10])
    >>> most_informative(nb, X, n=2)
    array([41, 15])
    """
    check_own(estimator, "most_informative", method="uncertainty")
    check_least(1, n=n)  # ValueError unless a whole number of at least 1
    information = estimator.uncertainty(X, **settings).epistemic  # (n,) I(y; θ | x) of each row, in nats
    if n > len(information):
        raise ValueError(f"`n` is {n}; it needs to be at least 1 and at most the {len(information)} rows of `X`")
    # In ascending order of minus the information: a stable sort keeps equal rows in their order. For example, the
    # information (0.1, 0.3, 0.3) has the order 1, 2, 0.
    return np.argsort(-information, kind="stable")[:n]  # (n,) positions of the largest
