"""What the hyperparameters say: the prior of the classes and of every block, and which estimate predicts."""

from typing import Any

import numpy as np

from ..core.supports import SIMPLEX, as_numbers, checked_numbers, shortened
from ..families.classes import AbstractClasses, DirichletClasses, FixedClasses
from ..naive_bayes import NaiveBayes, Statistics
from ._declared import AbstractDeclared
from ._input import alike, boolean, concentration
from ._priors import leaves_default, with_own_prior


class AbstractWithPrior(AbstractDeclared):
    """The prior that the hyperparameters of an estimator stand for. A subclass says which blocks it has by default."""

    estimate: str
    class_alpha: Any
    alpha: Any
    force_alpha: bool
    prior: Any = None

    def _default_blocks(self, stats: Statistics | None) -> dict[str, Any]:
        """Prior blocks where no `prior` is given; with statistics at hand those of the data's scale."""
        raise NotImplementedError

    def _blocks(self, stats: Statistics | None) -> dict[str, Any]:
        """Prior blocks; without statistics any that can gather them."""
        default = self._default_blocks(stats)
        return default if self.prior is None else with_own_prior(self, default)

    def _prior(self, stats: Statistics | None) -> Any:
        return NaiveBayes(self._class_prior(), self._blocks(stats))

    def _prior_name(self) -> str:
        """The parameter that holds fixed class probabilities: of scikit-learn's two names the one that is used."""
        one, other = getattr(self, "class_prior", None), getattr(self, "priors", None)
        if one is not None and other is not None and not alike(np.asarray(one), np.asarray(other)):
            raise ValueError(
                f"`class_prior` is {shortened(one)} and `priors` is {shortened(other)}: both set the class "
                "probabilities, and they differ. Leave one of them out"
            )
        return "class_prior" if one is not None or (other is None and "class_prior" in vars(self)) else "priors"

    def _class_prior(self) -> AbstractClasses:
        """Fixed where probabilities are given, uniform where `fit_prior` is False, else Dirichlet(class_alpha)."""
        name, c = self._prior_name(), len(self.classes_)
        given = getattr(self, name)
        if given is not None:
            pi = as_numbers(name, given, f"{c} probabilities that sum to 1")
            if pi.shape != (c,):
                raise ValueError(f"Number of priors must match number of classes, {c}; `{name}` has shape {pi.shape}")
            if not (pi >= 0).all():
                raise ValueError(f"Priors must be non-negative; `{name}` is {pi}")
            if not np.isclose(pi.sum(), 1, rtol=0, atol=1e-8):
                raise ValueError(f"The sum of the priors should be 1; `{name}` is {pi}")
            if not SIMPLEX.holds(pi):
                raise ValueError(f"`{name}` is {pi}; it needs {SIMPLEX.describe()}")
            return FixedClasses(pi / pi.sum())
        if not boolean("fit_prior", self.fit_prior):
            return FixedClasses(np.full(c, 1 / c))
        return DirichletClasses(np.array(checked_numbers("class_alpha", self.class_alpha, (c,))))

    def _concentration(self, shape: tuple[int, ...]) -> np.ndarray:
        """`alpha` as the concentrations of the prior, for estimators whose alpha is that of scikit-learn."""
        return concentration(self.alpha, self.force_alpha, shape)

    def _check_estimate(self) -> None:
        if self.estimate not in ("predictive", "mean", "map", "mle"):
            raise ValueError(f"`estimate` is {self.estimate!r}; choose 'predictive', 'mean', 'map' or 'mle'")

    _default_follows_rows: Any = False  # whether the rows scale the default prior

    @property
    def _prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior, so that `loo` has something to take out of it."""
        return self._default_follows_rows and leaves_default(self)
