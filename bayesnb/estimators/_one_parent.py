"""The model of one parent of `OneDependenceNB`: as an estimator of its own, in NumPyro, in the check; draws of all."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Scalar
from ..core.random import generator
from ..core.special import log_floor, log_normalize
from ..core.supports import check_least, check_level
from ..one_dependence import BLOCK
from ..sums.rows import batches
from .categorical import AbstractLevels, CategoricalNB

if TYPE_CHECKING:
    from ..inference.intervals import Uncertainty
    from ..inference.report import CheckReport


_DRAWN = 1 << 22  # probabilities kept at a time for the quantiles of draws
_SHARED = ("classes_", "n_features_in_", "feature_names_in_", "categories_", "n_categories_")


class AbstractOneParent(AbstractLevels):
    """An average of one-dependence models: the model of a single parent, and draws of class probabilities."""

    alpha: Any
    prior: Any
    pair_alpha: float

    def _as_categorical(self) -> CategoricalNB:
        """`CategoricalNB` of the same columns, levels and classes, without rows."""
        nb = CategoricalNB(alpha=self.alpha, prior=self.prior)
        nb.__dict__ |= {name: value for name, value in vars(self).items() if name in _SHARED}
        return nb

    def _own_prior(self) -> list[np.ndarray]:
        """Pseudo-counts of the levels of each feature under `prior`, (c, k_j) each."""
        nb = self._as_categorical()
        blocks, groups = nb._blocks(None), nb._columns().items()
        found = {j: blocks[name].alpha[:, i] for name, at in groups for i, j in enumerate(at.tolist())}
        return [found[j] for j in range(self.n_features_in_)]

    def parent(self, feature: Any = 0) -> CategoricalNB:
        """The model of one parent, as a fitted `CategoricalNB` of the other features with all its methods.

        Its classes are the pairs of class and parent level, numbered y·k_j + u. `pairs` gives the pair of each row.

        Parameters
        ----------
        feature : name or number of the parent's column

        Raises
        ------
        ValueError
            if there is no such column, or if it is the only one
        """
        check_is_fitted(self)
        j = self._position(feature)
        others = np.delete(np.arange(self.n_features_in_), j)
        alpha = self.alpha if np.ndim(self.alpha) == 0 else np.asarray(self.alpha)[others]
        n_pairs = len(self.classes_) * int(self.n_categories_[j])
        nb = CategoricalNB(alpha=alpha, class_alpha=self.pair_alpha / n_pairs)
        if self.prior is not None:
            own, k = self._own_prior(), int(self.n_categories_[j])
            nb.set_params(alpha=1.0, prior={i: np.repeat(own[at], k, axis=0) for i, at in enumerate(others.tolist())})
        nb.classes_, nb.n_features_in_ = np.arange(n_pairs), len(others)
        nb.categories_ = [self.categories_[i] for i in others]
        nb.n_categories_ = self.n_categories_[others]
        if hasattr(self, "feature_names_in_"):
            nb.feature_names_in_ = self.feature_names_in_[others]
        return nb._set_statistics(self._fitted_state().posterior.parent_statistics(j, self._conditioned.statistics))

    def pairs(self, X: Any, y: Any, feature: Any = 0) -> np.ndarray:
        """The compound class y·k_j + u of each row, (n,), as numbered in the model of one parent.

        Raises
        ------
        ValueError
            if a cell of the parent is missing, or is a level that was not in the training rows
        """
        check_is_fitted(self)
        j = self._position(feature)
        u = self._encode(X)[BLOCK][:, j]
        if np.isnan(u).any():
            raise ValueError(
                f"`X` has missing cells or unknown levels in column {self._label(j)}, the parent; leave out these rows"
            )
        return self.class_index(y) * int(self.n_categories_[j]) + u.astype(int)

    def _position(self, feature: Any) -> int:
        """The number of a column that has at least one other beside it."""
        if (place := self._place(feature)) is None:
            raise ValueError(
                f"`feature` is {feature!r}; give the name or the number of one of the {self.n_features_in_} features"
            )
        if self.n_features_in_ == 1:
            raise ValueError("`X` has a single column, so no other feature can depend on it; use CategoricalNB")
        return place

    def numpyro_model(self, X: Any, y: Any = None, parent: Any = 0) -> None:  # type: ignore[override]
        """The generative model of one parent in NumPyro, with this estimator's prior.

        The estimator is the average of these models. The pairs are (y, x_j) ~ Categorical(pi), and all other features
        are x_i ~ Categorical(theta[pair]). The sites of the parameters are those of `parent(j).numpyro_model`. The
        sites of the data are `parent`, `y` and `x`.

        Parameters
        ----------
        X : rows as in `predict`; a row whose parent is missing is left out
        y : labels as in `fit`; with None and X they are a latent discrete site
        parent : name or number of the parent's column
        """
        check_is_fitted(self)
        j, x = self._position(parent), self._encode(X)[BLOCK]
        there = ~np.isnan(x[:, j])
        index = None if y is None else self.class_index(y)[there]
        self.prior_.model({BLOCK: x[there]}, index, j)

    def sample_posterior(
        self,
        draws: int = 1000,
        seed: int = 0,
        method: str = "exact",
        *,
        X: Any = None,
        y: Any = None,
        chains: int = 4,
        warmup: int = 1000,
        progress_bar: bool = True,
        parent: Any = 0,
    ) -> Any:
        """Posterior draws of the model of one parent as ArviZ data; see `AbstractNB.sample_posterior`.

        Parameters
        ----------
        parent : name or number of the parent's column; the classes of the draws are pairs of class and parent level
        """
        nb = self.parent(parent)
        given: dict[str, Any] = {"X": None, "y": None}
        if X is not None and y is not None:
            given = {"X": self._children_of(X, self._position(parent)), "y": self.pairs(X, y, parent)}
        elif X is not None or y is not None:
            raise ValueError("only one of `X` and `y` is given; give both, or none")
        return nb.sample_posterior(
            draws, seed, method, **given, chains=chains, warmup=warmup, progress_bar=progress_bar
        )

    def check(self, X: Any, y: Any, seed: int = 0, *, parent: Any = 0, **settings: Any) -> "CheckReport":
        """Compare the closed form with NumPyro for the model of one parent; see `AbstractNB.check`.

        Parameters
        ----------
        parent : name or number of the parent's column; rows where it is missing are left out
        """
        fitted = clone(self).fit(X, y)
        j = fitted._position(parent)
        there = np.flatnonzero(~np.isnan(fitted._encode(X)[BLOCK][:, j]))
        X, y = _safe_indexing(X, there), np.asarray(y)[there]
        return fitted.parent(j).check(fitted._children_of(X, j), fitted.pairs(X, y, j), seed, **settings)

    def _children_of(self, X: Any, j: int) -> Any:
        """The columns of X but one."""
        others = np.delete(np.arange(self.n_features_in_), j)
        return _safe_indexing(X if hasattr(X, "columns") else np.asarray(X), others, axis=1)

    # --- how sure the average is --------------------------------------------------------------------------------------

    def sample_proba(self, X: Any, n_draws: int = 1000, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Draws of the class probabilities p_j(y = c | x_i, θ_j), (s, n, c), over parents j and their parameters.

        A draw is one parent j, with probability v_j, and one θ_j from the posterior of its model. All rows share it,
        but a row whose x_j is missing gets another parent. The mean of the draws is Σ_j v_j E p_j(y | x, θ_j). If each
        draw is weighted by p_j(x | θ_j), the mean is `predict_proba`.
        """
        drawn = (np.exp(np.moveaxis(log_p, -1, 0)) for _, log_p in self._draws(X, n_draws, seed))
        return np.concatenate(list(drawn), 1)

    def _draws(
        self, X: Any, n_draws: int, seed: int | np.random.Generator | None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Log class probabilities (n, c, s) of some rows at a time, the same draws for all."""
        rows, posterior = self._encode(X), self._fitted_state().posterior
        theta = posterior.sample(generator(seed), (n_draws,))
        for part in batches(len(rows[BLOCK]), max(1, _DRAWN // (n_draws * len(self.classes_)))):
            table = posterior.log_joint({BLOCK: rows[BLOCK][part]}, theta)
            yield part, np.moveaxis(log_normalize(table), 0, -1)

    def predict_interval(
        self,
        X: Any,
        level: Scalar = 0.9,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> np.ndarray:
        """Equal-tailed credible interval of p_j(y = c | x_i, θ_j) over parents j and their parameters, (n, c, 2).

        Parameters
        ----------
        level : posterior mass inside, between 0 and 1
        method : "auto" and "draws" both use `n_draws` draws of `sample_proba`; "analytic" is not available
        n_draws : number of draws, by default 1,000
        seed : seed of the draws, which all rows share

        Raises
        ------
        ValueError
            if `level`, `method` or `n_draws` is out of range
        """
        n_draws = _checked_draws(method, n_draws)
        check_level(level)
        tails = [(1 - level) / 2, (1 + level) / 2]
        parts = [np.quantile(np.exp(log_p), tails, -1) for _, log_p in self._draws(X, n_draws, seed)]
        return np.moveaxis(np.concatenate(parts, 1), 0, -1)

    def uncertainty(
        self,
        X: Any,
        method: str = "auto",
        n_draws: int | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> "Uncertainty":
        """Entropy of the label of each row in nats, split: fields `total`, `aleatoric`, `epistemic`, (n,) each.

        `total` is the entropy of the mean of `sample_proba`. `aleatoric` is the mean of the entropies of the draws.
        `epistemic` is the difference: the mutual information of the label with the parent and its parameters.
        """
        from ..inference.intervals import Uncertainty

        parts = []
        for _, log_p in self._draws(X, _checked_draws(method, n_draws), seed):
            p = np.exp(log_p)
            mean = p.mean(-1)
            total = -(mean * log_floor(mean)).sum(1)
            epistemic = (p * np.maximum(log_p - log_floor(mean)[..., None], -1e3)).mean(-1).sum(1)
            parts.append((total, np.clip(epistemic, 0, total)))
        total, epistemic = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Uncertainty(total, total - epistemic, epistemic)


def _checked_draws(method: str, n_draws: int | None) -> int:
    if method not in ("auto", "draws"):
        raise ValueError(f"`method` is {method!r}; choose 'draws' or 'auto', which are the same for OneDependenceNB")
    if n_draws is not None:
        check_least(2, n_draws=n_draws)
    return n_draws or 1000
