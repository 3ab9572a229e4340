"""The model of one parent of `OneDependenceNB`: as an estimator of its own, in NumPyro, as draws, in the check."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..core.pytrees import defer_jax_import
from ..one_dependence import BLOCK, OneDependence
from ._state import reads_one_state
from .categorical import AbstractLevels, CategoricalNB

if TYPE_CHECKING:
    from ..sampling.report import CheckReport


_SHARED = ("classes_", "n_features_in_", "feature_names_in_", "categories_", "n_categories_")


class AbstractOneParent(AbstractLevels):
    """An average of one-dependence models: its prior and posterior, and the model of a single parent."""

    alpha: Any
    prior: Any
    pair_alpha: float

    @property
    @reads_one_state
    def prior_(self) -> OneDependence:
        """The prior of all models, before the training rows; it cannot be changed."""
        return self._fitted_state("prior_").prior

    @property
    @reads_one_state
    def posterior_(self) -> OneDependence:
        """The posterior of all models, given all training rows. It is computed on first use and cannot be changed."""
        return self._fitted_state("posterior_").posterior

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

    @reads_one_state
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
        with defer_jax_import():
            return nb._set_statistics(self.posterior_.parent_statistics(j, self.statistics_))

    @reads_one_state
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
        return self._class_index(np.asarray(y)) * int(self.n_categories_[j]) + u.astype(int)

    def _position(self, feature: Any) -> int:
        """The number of a column that has at least one other beside it."""
        names = list(getattr(self, "feature_names_in_", []))
        known = names.index(feature) if feature in names else feature
        if not isinstance(known, (int, np.integer)) or not 0 <= known < self.n_features_in_:
            raise ValueError(
                f"`feature` is {feature!r}; give the name or the number of one of the {self.n_features_in_} features"
            )
        if self.n_features_in_ == 1:
            raise ValueError("`X` has a single column, so no other feature can depend on it; use CategoricalNB")
        return int(known)

    @reads_one_state
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
        index = None if y is None else self._class_index(np.asarray(y))[there]
        self.prior_.model({BLOCK: x[there]}, index, j)

    @reads_one_state
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

    @reads_one_state
    def check(self, X: Any, y: Any, seed: int = 0, *, parent: Any = 0, **settings: Any) -> "CheckReport":
        """Compare the closed form with NumPyro for the model of one parent; see `AbstractNB.check`.

        Parameters
        ----------
        parent : name or number of the parent's column; rows where it is missing are left out
        """
        fitted = clone(self).set_params(weights="uniform").fit(X, y)
        j = fitted._position(parent)
        there = np.flatnonzero(~np.isnan(fitted._encode(X)[BLOCK][:, j]))
        X, y = _safe_indexing(X, there), np.asarray(y)[there]
        return fitted.parent(j).check(fitted._children_of(X, j), fitted.pairs(X, y, j), seed, **settings)

    def _children_of(self, X: Any, j: int) -> Any:
        """The columns of X but one."""
        others = np.delete(np.arange(self.n_features_in_), j)
        return _safe_indexing(X if hasattr(X, "columns") else np.asarray(X), others, axis=1)
