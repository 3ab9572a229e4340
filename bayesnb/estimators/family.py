"""Naive Bayes of any conjugate family, one of the user's own among them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags

from ..families.base import AbstractConjugate
from ..numerics.supports import checked_prior, shortened
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK


@documented
@dataclass(eq=False, repr=False)
class FamilyNB(AbstractNB):
    """Naive Bayes with the likelihood of any conjugate family: x_i | y_i = c ~ family with parameters θ_c.

    Parameters
    ----------
    family : instance of a subclass of `families.AbstractConjugate`, such as `families.GammaPoisson(1.0, 0.5)`
        the prior. Its fields are numbers, or arrays that broadcast to the axes of the family, usually (class, feature).
        The prior does not depend on the rows
    prior : optional
        replaces fields of `family`. It may be a NumPyro distribution, a mapping of fields, or a mapping from column
        (name or position) to one of these. See the guide "Which prior?"
    {estimate}
    {class_parameters}

    Attributes
    ----------
    {learnt}
    log_evidence_ : log p(X, y) in nats
    coef_, intercept_ : linear discriminant, where the family has one

    Notes
    -----
    Provisional: a later release may change names and signatures. The family states which cells are allowed, whether
    cells may be missing, and whether rows may be sparse. Import the module that defines your family before you load a
    saved model. The page "How to add a family" of the documentation shows how to define one.

    Examples
    --------
    >>> from bayesnb import FamilyNB, families
    >>> nb = FamilyNB(families.GammaPoisson(a=1.0, b=0.5)).fit([[0, 2], [1, 5], [7, 1]], ["few", "few", "many"])
    >>> nb.predict([[6, 1]]).tolist()
    ['many']
    >>> nb.prior_.blocks["x"].b.shape
    (2, 2)
    """

    family: Any

    _most_columns = -1  # it needs a family

    @property
    def _family(self) -> Any:
        """The family, for its declarations."""
        return self.family if isinstance(self.family, AbstractConjugate) else AbstractConjugate

    def _cell_advice(self) -> str:
        name = type(self.family).__name__
        return f"a cell of {name} is {self._cells.describe()}. Choose another family, or prepare the column."

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # any family, on the blobs of scikit-learn's checks
        return tags

    @property
    def _n_levels(self) -> int | None:  # type: ignore[override]
        """Number of levels of a cell: the length of the axis "level" of a field; None where no field has one."""
        for name, field in self._family.fields_.items():
            if field.axes[-1] == "level":
                return np.shape(getattr(self.family, name))[-1]
        return None

    def _levels_of(self, state: State, feature: int) -> Any:
        """Labels of the levels of a column, (k,); None where it has no levels."""
        return None if self._n_levels is None else np.arange(self._n_levels)

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The family, with its fields broadcast to classes and columns.

        Refused are an object that is no family, a composite likelihood, which is no density of rows, and a family that
        does not declare its fields, so that they cannot be broadcast.

        Parameters
        ----------
        state : with classes and columns
        """
        # `_family` is `family` itself, or the abstract base class if the object is no family
        if self._family is not self.family or self.family.is_composite or not self.family.fields_:
            raise ValueError(
                f"`family` is {shortened(self.family)}; it needs a conjugate family with declared fields that is a "
                "density of rows, as families.GammaPoisson(1, 1)"
            )
        # every field is broadcast to the lengths of its axes; an axis that is not named here stays as long as it is
        n_classes, n_columns = state.shape
        return {BLOCK: checked_prior("family", self._family, {"class": n_classes, "feature": n_columns})}

    def _block_labels(self, state: State, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class.

        "feature_" is the second axis of features of a covariance, whose coordinates need another name.
        """
        names = state.columns.labels
        return {"feature": names, "feature_": names, "level": np.arange(self._n_levels or 0)}

    def _block_dims(self, state: State, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis."""
        block_prior = state.prior.blocks[BLOCK]
        axes = block_prior.sites()[parameter].axes  # of the NumPyro site, such as ("class", "feature", "event")

        # NumPyro calls an axis "event" if its entries are one random vector. Beside an axis of features these are the
        # levels of a feature; otherwise they are the features: once for a mean, twice for a covariance. `next` gives
        # the names in turn: ("class", "event", "event") becomes ["class", "feature", "feature_"]
        event_dims = iter(["level"] if "feature" in axes else ["feature", "feature_"])
        return [next(event_dims) if axis == "event" else axis for axis in axes]
