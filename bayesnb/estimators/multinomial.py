"""Multinomial naive Bayes for scikit-learn users."""

from typing import Any

import numpy as np
from sklearn.utils import Tags

from ..families.multinomial import DirichletMultinomial
from ..naive_bayes import Rows, Statistics
from ._base import AbstractNB
from ._input import check_nonnegative, numeric
from ._state import BLOCK, reads_one_state


class MultinomialNB(AbstractNB):
    """Naive Bayes for counts of events, such as words: θ_c ~ Dirichlet(α), x_i | y_i = c ~ Multinomial(L_i, θ_c).

    Parameters
    ----------
    alpha : float or (d,), default 1
        pseudo-count of each event in each class, positive
    force_alpha : bool, default True
        False raises an alpha below 1e-10 to it, as in scikit-learn
    prior : optional
        a prior of your own: `dist.Dirichlet(…)` of NumPyro with one pseudo-count a feature, a mapping of fields
        such as `{"alpha": 0.5}`, a family, or a mapping from column (name or position) to one of these; columns
        that are not named keep the default. See the guide "Which prior?". One of `alpha` and
        `class_alpha` may itself be a distribution, such as `dist.Gamma(2, 1)`, which is integrated by quadrature
    fit_prior : bool, default True
        learn the class probabilities; False makes them equal
    class_prior, priors : (c,), optional
        fixed class probabilities, under either name
    class_alpha : float or (c,), default 1
        Dirichlet concentration of the class probabilities, used while they are learnt
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" is the Dirichlet–multinomial, parameters integrated out; "mean" is the
        add-α smoothing of scikit-learn, and differs from it as soon as a row has two events

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : sufficient statistics, and `NaiveBayes` before and after them
    log_evidence_ : log p(X, y) given the row lengths, nats
    coef_, intercept_ : linear discriminant

    Notes
    -----
    Dense and scipy.sparse rows; fractional counts are accepted. A missing cell has no meaning, NaN is refused.
    `sample` needs `length=`, the number of events of a new row, or takes the average of the rows fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import MultinomialNB
    >>> counts = np.array([[2, 1, 0], [1, 2, 0], [0, 1, 3]])  # of three words in three messages
    >>> nb = MultinomialNB().fit(counts, ["ham", "ham", "spam"])
    >>> nb.predict_proba([[0, 0, 2]]).round(3)  # parameters integrated out
    array([[0.085, 0.915]])
    >>> nb.set_params(estimate="mean").predict_proba([[0, 0, 2]]).round(3)  # plugged in
    array([[0.054, 0.946]])
    """

    _waits = True
    _wide_slices = True

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        prior: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        class_alpha: Any = 1.0,
        estimate: str = "predictive",
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.prior = prior
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.class_alpha = class_alpha
        self.estimate = estimate

    def _validate(self, X: Any, *, counts: bool = True, **checks: Any) -> Any:
        return numeric(self, X, sparse_ok=True, missing_ok=False, counts=counts, **checks)

    def _rows(self, X: Any) -> Rows:
        check_nonnegative(self, X, "it models counts. Bin the column or use GaussianNB.")
        return {BLOCK: X}

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        shape = len(self.classes_), self.n_features_in_
        return {BLOCK: DirichletMultinomial(self._concentration(shape))}

    @reads_one_state
    def sample(
        self,
        n_samples: int = 1,
        seed: int | np.random.Generator | None = None,
        *,
        source: str = "posterior",
        length: Any = None,
    ) -> Any:
        """New rows and labels from the predictive, each row with parameters of its own draw.

        Parameters
        ----------
        source : "posterior" or "prior": what the parameters are drawn from
        length : events of a row, one number or (n,); by default the rounded average of the rows fitted
        """
        return self._sample(n_samples, seed, source, length=length)

    def _draw(self, model: Any, rng: np.random.Generator, y: np.ndarray, **given: Any) -> dict[str, np.ndarray]:
        if given.get("length") is None:
            given["length"] = self._average_length()
        return super()._draw(model, rng, y, **given)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on the blobs of scikit-learn's checks, as its own
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags
