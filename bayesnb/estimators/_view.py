"""What analyses may ask of a fitted estimator, in one frozen object, `nb.model_`.

Estimators hold their columns in different ways: one block of all columns, a block for each number of levels, or the
blocks of all parts of a `MixedNB`. Each class says so in private methods, which take a state. `ModelView` is one
estimator with one state. It answers the same questions of all of them, and its answers never change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.naive_bayes import Parameters, Rows, Statistics
from ..numerics.supports import check_least, check_level, is_single
from ..posterior.held_out import take_rows
from ..posterior.remaining import Remaining, without
from ..sums.statistics import repeated, with_error
from ._input import checked_labels, places_of
from ._named import given_names

if TYPE_CHECKING:
    from ..posterior.explanation import Contributions
    from ._fitted import State
    from ._predicting import AbstractBayes


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted estimator as analyses see it, with what it knew at one moment. Provisional.

    A *block* is the columns that share one conjugate prior. A *part* is columns with an estimator of their own: those
    of `MixedNB`, and all columns of any other estimator. A view of an estimator that knows its labels and columns, and
    has seen no rows, answers what needs no rows. All else is a `sklearn.exceptions.NotFittedError` there.

    Fields
    ------
    estimator : a copy, which holds `state`, whatever another thread fits or sets meanwhile
    state : labels, columns and their encoding, statistics, and the prior

    Examples
    --------
    >>> from bayesnb import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]).model_
    >>> model.class_index(["b", "a"]), model.feature_names, model.block_columns
    (array([1, 0]), [0, 1], {'x': array([0, 1])})
    """

    estimator: "AbstractBayes"
    state: "State"

    # --- what was learnt --------------------------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """The labels, sorted, (c,)."""
        return self.state.classes

    @property
    def statistics(self) -> Statistics:
        """Sufficient statistics of all rows."""
        return self.estimator._fitted().statistics

    @property
    def prior(self) -> Any:
        """The model before the rows."""
        return self.estimator._fitted().prior

    @property
    def posterior(self) -> Any:
        """The model after the rows."""
        return self.estimator._fitted().posterior

    # --- rows and labels --------------------------------------------------------------------------------------------

    def class_index(self, y: Any) -> np.ndarray:
        """Positions 0 … c−1 of labels among `classes`, (n,); ValueError on a label that was not fitted."""
        return places_of(checked_labels(y), self.estimator._fitted().classes)

    def encode(self, X: Any) -> Rows:
        """Rows as the blocks of `prior` take them, by block and in float64, (n, d_block) each."""
        rows, _, _ = self.estimator._validate(X, self.state)
        return self.estimator._float_rows_by_block(self.state, rows)

    def encode_labelled(self, X: Any, y: Any) -> tuple[Rows, np.ndarray]:
        """Rows by block with the types that they have, and the class index (n,) of each."""
        nb = self.estimator
        state = nb._fitted()
        rows, labels, _ = nb._validate(X, state, y)
        if nb._infinite_shows:  # then `_rows_by_block` leaves it to its caller to notice infinite cells
            nb._check_finite(rows)
        return nb._rows_by_block(state, rows), places_of(labels, state.classes)

    # --- columns, blocks and parts ----------------------------------------------------------------------------------

    @property
    def feature_names(self) -> list[Any]:
        """Names of the columns of X, or their numbers."""
        return self.state.columns.labels.tolist()

    def labels_of_features(self, feature_names: Any = None) -> np.ndarray:
        """What the features are called, (d,): as the user says, or the names of the columns of X, or their numbers.

        Parameters
        ----------
        feature_names : (d,) names, or what made the rows, as `given_names` takes them; None for those of the columns
        """
        columns = self.state.columns
        return columns.labels if feature_names is None else given_names(feature_names, columns.n)

    @property
    def block_columns(self) -> dict[str, np.ndarray]:
        """Positions in X of the columns of each block."""
        return self.estimator._block_columns(self.state)

    @property
    def parts(self) -> list["PartView"]:
        """The parts; an entry of `MixedNB` that has an estimator for each class is one part for each of them."""
        return self.estimator._part_views(self.state)

    @property
    def blocks_of_parts(self) -> dict[str, list[str]]:
        """Names of the blocks of each part, by its name; the parts of one entry of `MixedNB` are joined."""
        blocks_by_part: dict[str, list[str]] = {}
        for part in self.parts:
            blocks_by_part.setdefault(part.name, []).extend(part.block_names.values())
        return blocks_by_part

    def levels_of(self, feature: int) -> Any:
        """Labels of the levels of the column at a position, (k,); None where it has no levels."""
        return self.estimator._levels_of(self.state, feature)

    def block_labels(self, block: str) -> dict[str, np.ndarray]:
        """Coordinates of a block's dimensions by name, in the order of its axes after the class.

        The names of dimensions begin with the part in a `MixedNB`, as in "numbers_feature", because parts have
        different columns.
        """
        return self.estimator._block_labels(self.state, block)

    def block_dims(self, block: str, parameter: str, ndim: int) -> list[str]:
        """Names of the axes of a parameter: the class first, unless there is only one axis.

        Parameters
        ----------
        block, parameter : name of a block, and of a NumPyro site in it
        ndim : number of the parameter's axes
        """
        return self.estimator._block_dims(self.state, block, parameter, ndim)

    # --- parameters -------------------------------------------------------------------------------------------------

    def point_estimate(self) -> Parameters | None:
        """Parameters that `estimate` plugs in, by block and name; None for "predictive"."""
        return self.estimator._point_estimate(self.estimator._fitted())

    @property
    def tie_prior(self) -> np.ndarray:
        """log p(y = c), (c,): of equally probable labels that with the larger one is predicted."""
        return self.estimator._tie_prior(self.estimator._fitted())

    def linear_form(self, theta: Parameters | None = None) -> tuple[Any, Any]:
        """Weights (k, c) and intercepts (c,) of the discriminant, by default under the current estimate.

        The discriminant is log p(x, y = c | θ) up to a term that all classes share. The k weights are those of the
        columns, or of their levels, block after block.

        Parameters
        ----------
        theta : parameters by block; None takes those of the current `estimate`

        Raises
        ------
        AttributeError
            if it is not linear
        """
        return self.estimator._linear_form(self.estimator._fitted(), theta)

    @property
    def weight_labels(self) -> np.ndarray:
        """A label for each weight of `linear_form`, (k,): the column, or the column and its level."""
        return self.estimator._weight_labels(self.state, self.state.columns.labels)

    def contributions_of_each_row(
        self, X: Any, against: Sequence[Any], focus: Sequence[int], **settings: Any
    ) -> "list[Contributions]":
        """`contributions` of each of n rows by itself, with its own classes; the draws are the same for all rows.

        Parameters
        ----------
        against : n labels
        focus : n class numbers, by which features are large
        settings : `n`, `level`, `n_draws` and `seed`, as in `contributions`
        """
        found = []
        for i, (label, k) in enumerate(zip(against, focus, strict=True)):
            contributions, _ = self.contributions(take_rows(X, np.array([i])), against=label, focus=k, **settings)
            found.append(contributions)
        return found

    def contributions(self, X: Any, *, against: Any = None, **settings: Any) -> "tuple[Contributions, int | None]":
        """What `explain` shows, as arrays, and the position of the class that the odds are against.

        Parameters
        ----------
        against : label of that class; None is the geometric mean of all other classes, and its position is None
        settings : `n`, `level`, `n_draws` and `seed` of `explain`; those that are not given have the defaults of
            `posterior.explanation.contributions`, which gets them as they are

        Returns
        -------
        contributions : of each row an entry for the class prior, each listed feature and all others, with its value and
            interval for each class
        position : of the class `against`, or None
        """
        from ..posterior.explanation import contributions, odds_against

        self.estimator._check_likelihood()  # ValueError where the prediction comes from none
        state = self.estimator._fitted()  # all that was learnt: labels, columns, statistics, prior and posterior
        labels = state.classes
        if len(labels) < 2:
            raise ValueError(
                f"the model has a single class, {labels[0]!r}, but log odds need two; fit it to rows of two classes"
            )
        base = None if against is None else _position_of_label(against, labels)

        # settings that `explain` documents are checked here, so that errors name them
        check_level(settings.get("level", 0.9))
        check_least(1, n_draws=settings.get("n_draws", 1))
        if settings.get("n") is not None:
            check_least(1, np.inf, n=settings["n"])
            settings["n"] = min(settings["n"], state.columns.n)  # no row has more features than there are

        # entries: of each row one for the class prior, each listed feature, and all others together
        values = contributions(
            posterior=state.posterior,
            rows=self.encode(X),
            columns=self.block_columns,
            theta=self.point_estimate(),  # None integrates the parameters out
            d=state.columns.n,
            odds=odds_against(len(labels), base),  # a function from log p of all classes to log odds
            **settings,
        )
        return values, base

    # --- without some rows ------------------------------------------------------------------------------------------

    @property
    def ignored_by_loo(self) -> str:
        """Settings that `predict` uses and leave-one-out does not, such as "estimate='map'"; else ""."""
        return self.estimator._ignored_by_loo

    @property
    def prior_follows_rows(self) -> bool:
        """Whether the rows scale the prior of some columns, so that leaving a row out changes it."""
        return self.estimator._prior_follows_rows

    @property
    def loo_prior(self) -> str:
        """The `prior` of `loo` in analyses: "refit" if it costs no fits, otherwise "kept"."""
        is_quick = self.prior_follows_rows and self.posterior_without_rows("refit") is not None
        return "refit" if is_quick else "kept"

    def posterior_without_rows(self, prior: str) -> Any:
        """The posterior that predicts its own rows by `log_loo`, each without the row.

        Parameters
        ----------
        prior : "kept", or "refit" if the row leaves the scale of the prior too; the result is then None where only a
            fit to all other rows does that
        """
        posterior = self.posterior
        if prior == "kept" or not self.prior_follows_rows:
            return posterior

        # "refit": the prior of a block is made of the rows by some rule, such as the rule of thumb of a bandwidth.
        # Blocks that are given this rule apply it to all rows but one; None if the families of this estimator cannot
        blocks = self.estimator._blocks_with_rules(posterior.blocks)
        if blocks is None:
            return None
        return replace(posterior, blocks=blocks)

    def remaining(self, stats: Statistics, n_rows: int = 0, n_models: int = 1) -> Remaining:
        """The statistics without those of some rows, as computed, and moved by the bound of their rounding.

        Parameters
        ----------
        stats, n_rows : statistics of some rows, and their number, by default as many as their weights together
        n_models : how many sets of rows there are, each of which is removed on its own. `stats` then have the classes
            of each set, one set after the other, and so does the result

        Raises
        ------
        ValueError
            if such rows were never fitted
        """
        fitted = repeated(self.estimator._fitted().bounded, n_models)
        return without(fitted, with_error(stats, n_rows), n_models)

    # --- the same settings with other rows --------------------------------------------------------------------------

    @property
    def class_prior_parameter(self) -> str:
        """The parameter that holds fixed class probabilities: of scikit-learn's two names that in use."""
        return self.estimator._class_prior_parameter

    def prior_for(self, stats: Statistics | None = None) -> Any:
        """The prior that the settings give beside statistics; without any, one that can gather them."""
        return self.estimator._prior(replace(self.state, statistics=stats))

    def with_statistics(self, stats: Statistics) -> Any:
        """An estimator that has learnt the rows behind these statistics, and no others.

        Its prior is made anew, because the rows may scale it.
        """
        return self.estimator._holding(self.estimator._with_prior(replace(self.state, statistics=stats)))


@dataclass(frozen=True, eq=False)
class PartView:
    """A part of a model: an estimator of its own, and the blocks that it has in the whole. Provisional.

    Fields
    ------
    name : of the entry of `parts` in a `MixedNB`; "x" of any other estimator, which is one part
    model : the fitted estimator of the part
    block_names : the name in the whole of each block of that estimator, by the name that it has there, such as
        {"levels_3": "pet.levels_3"}
    only_class : position of the class that the part is for; None if it is for all classes
    """

    name: str
    model: ModelView
    block_names: dict[str, str]
    only_class: int | None = None


def learn_columns(estimator: Any, X: Any, classes: Any) -> ModelView:
    """The view of an estimator that knows names, number and levels of the columns, and no rows. Provisional.

    Parameters
    ----------
    estimator : an estimator of bayesnb, which does not change
    X : rows that show what the columns are
    classes : all labels, sorted
    """
    return estimator._with_columns(X, classes).model_


def _position_of_label(label: Any, labels: np.ndarray) -> int:
    """The position of the class `against` among the labels (c,); ValueError if it is none of them."""
    # a list or an array is no label; compared with the labels it would give a table
    matches = np.flatnonzero(labels == label) if is_single(label) else np.zeros(0, int)
    if not matches.size:
        raise ValueError(f"`against` is {label!r}; the classes are {labels.tolist()}")
    return int(matches[0])
