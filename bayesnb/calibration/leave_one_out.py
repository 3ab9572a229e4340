"""Naive Bayes with class probabilities calibrated on exact leave-one-out: one fit, no folds, no rows set aside.

Naive Bayes counts dependent features as independent evidence, so its class probabilities are too close to 0 and 1.
Exact leave-one-out gives its predictions of rows that it does not know, without a refit. All rows are therefore used,
and the model that predicts is the one fitted to all rows.

    y_i | z_i, map ~ Categorical(p'(z_i))        z_i = log p(y | x_i, D₋ᵢ), the leave-one-out table

References
----------
Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out, §2.1, for the table.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..estimators._suited import check_own
from ..estimators._view import ModelView
from ..models.naive_bayes import Rows
from ..numerics.arrays import Float, Int, PerRow, Table, is_sparse
from ..numerics.special import log_normalize
from ..numerics.weights import RowWeights, row_weights
from ..posterior.loo import LooResult, copies, group_places, leave_out
from ..posterior.predicted import Known
from ..sums.rows import rows_at
from .base import AbstractCalibrated, floored
from .fitting import fit_maps, times_that_rows_repeat
from .map import CalibrationMap, Labelled, class_frequencies, most_probable, numpyro_model
from .without_rows import LeavingRows, average_without_rows

if TYPE_CHECKING:
    from ..check.report import CheckReport

_MAX_ROWS = 2_500  # of a leave-one-out table that a map is learnt from
_SAME_BY_CHANCE = 0.01  # expected number of rows like this one, below which a second one is a copy


class CalibratedClassifierLOO(AbstractCalibrated):
    """A naive Bayes classifier with class probabilities that are calibrated on its exact leave-one-out predictions.

    It has the methods of a model. `loo`, `importance`, `report` and `check` are about the calibrated probabilities.
    `explain`, `tables`, `prior_summary` and `posterior_` are those of the model inside: the log odds that `explain`
    splits are the ones that the map takes.

    Parameters
    ----------
    estimator : any estimator of bayesnb; a clone of it is fitted. For other classifiers there is `PosteriorCalibrator`.
        Put transforming steps before this classifier: `make_pipeline(step, CalibratedClassifierLOO(estimator))`

    Attributes
    ----------
    estimator_ : the fitted estimator, without calibration
    maps_ : the four models of the map, with their probabilities, modes and draws; `summary()` is a table of them
    model_probabilities_ : posterior probability of each of the four
    class_prior_ : (c,) class probabilities of the rows of the fit, copies counted once: `with_class_prior` moves them
    n_copies_ : number of training rows that are copies of another row
    loo_log_loss_ : leave-one-out log loss of the estimator and of the calibrated classifier, in nats a row. The row
        leaves the map too, as draws of the map are weighted by 1 / p(y_i)
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Weights of an integer type count rows: a row of weight 3 is the same as three rows of which one leaves at a time.
    Weights of a float type are importance: the row leaves whole.

    Copies of a row, without weights or with importance, leave together and count as one row for the map;
    `groups=np.arange(len(y))` keeps them apart, as counts do. A second row with the same cells and label is a copy if
    it is unlikely to occur by chance. This is so if it has cells that are not whole numbers, or if the model expects
    less than 0.01 such rows. The model is still fitted to all copies and so becomes more certain. The map learns from
    at most 2,500 rows, at random.

    The prior of leave-one-out is that of all rows. A row of `KernelNB` leaves the prior of the bandwidths too.

    Examples
    --------
    >>> import bayesnb
    >>> cancer = bayesnb.datasets.load("breast_cancer")
    >>> nb = bayesnb.CalibratedClassifierLOO(bayesnb.GaussianNB()).fit(cancer.X, cancer.y)
    >>> {name: round(loss, 2) for name, loss in nb.loo_log_loss_.items()}
    {'plain': 0.71, 'calibrated': 0.15}
    """

    _learnt_names = frozenset(
        {"estimator_", "maps_", "classes_", "class_prior_", "n_features_in_", "feature_names_in_"}
        | {"loo_log_loss_", "n_copies_"}
    )
    interval_coverage = (
        "of 90 % intervals of calibrated models, 52 % to 95 % held the true probability in simulated tables of 100 and "
        "400 rows (docs/guide/sharper.md)."
    )
    _lacks = " (its probabilities are calibrated, so it has no evidence of its own; ask `estimator_`, without the map)"

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit a clone of the estimator to all rows, and the map to its leave-one-out table.

        Parameters
        ----------
        X, y : rows and labels, in the form that the estimator accepts
        sample_weight : (n,) weights: integers count rows, of which one leaves at a time; floats are importance, and the
            row leaves whole. They also scale the log likelihood of the map
        groups : (n,) labels of groups of rows that belong together, such as several measurements of one person. A group
            is left out as a whole, and counts as fewer rows for the map, as many as its residuals show

        Raises
        ------
        TypeError
            if the estimator is not one of bayesnb
        ValueError
            if the estimator has a setting that leave-one-out ignores (`estimate` other
            than "predictive", or `norm` of ComplementNB), or if it refuses the rows
        """
        # 1. Fit the naive Bayes model to all rows.
        check_own(self.estimator, "CalibratedClassifierLOO, unlike PosteriorCalibrator,")
        nb = clone(self.estimator).fit(X, y, sample_weight)
        ignored = nb.model_.ignored_by_loo  # a setting, in words; "" if there is none
        if ignored:
            raise ValueError(
                f"`estimator` has {ignored}, which leave-one-out ignores, so the map would be learnt from other "
                "probabilities than those of `predict_proba`; leave it out"
            )

        # 2. Predict each row without itself: `rows.z` is log p(y = c | x_i, all other rows), (n, c), and `rows.code`
        # the class number of each row.
        rows = left_out_rows(nb, X, y, sample_weight, groups)

        # 3. Fit the map from these probabilities to calibrated ones: a regression of the labels on z. There are four
        # models of it, each with draws of its parameters.
        maps = fit_maps(floored(rows.z), rows.code, rows.weight, rows.group if rows.are_dependent else None)

        # 4. Log losses before and after. For an honest loss the map must not know the row either: draws of the maps
        # are averaged with weights 1 / p(y_i), which takes row i out of their posterior.
        calibrated = average_without_rows(maps, rows.leaving_from(maps))  # (n, c)
        losses = {"plain": _log_loss(rows, rows.z), "calibrated": _log_loss(rows, np.log(calibrated))}

        # 5. Set the attributes, now that nothing can fail any more.
        return self._take_over(
            nb,
            maps_=maps,
            n_copies_=rows.n_copies,
            class_prior_=rows.class_prior,
            loo_log_loss_=losses,
        )

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_table(self, X: Any) -> np.ndarray:
        """log p of rows before calibration, (n, c), in nats. Provisional."""
        return self.estimator_.predict_log_proba(X)

    def _drawn_tables(self, X: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """log p of rows before calibration, (s, n, c), for draws of the estimator's own parameters."""
        with np.errstate(divide="ignore"):
            return np.log(self.estimator_.sample_proba(X, n_draws, rng))

    # --- the model inside -------------------------------------------------------------------------------------------

    @property
    def explain(self) -> Any:
        """The method of `estimator_`: what each feature adds to log odds that are not calibrated."""
        return self.estimator_.explain

    @property
    def tables(self) -> Any:
        """The method of `estimator_`: its parameters as data frames."""
        return self.estimator_.tables

    @property
    def prior_summary(self) -> Any:
        """The method of `estimator_`: its prior in words."""
        return self.estimator_.prior_summary

    @property
    def prior_(self) -> Any:
        """The model of `estimator_` before the training rows."""
        return self.estimator_.prior_

    @property
    def posterior_(self) -> Any:
        """The model of `estimator_` after the training rows."""
        return self.estimator_.posterior_

    @property
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (c,)."""
        return self.estimator_.class_count_

    @property
    def class_log_prior_(self) -> np.ndarray:
        """log p(y = c) in nats, (c,), of `estimator_`."""
        return self.estimator_.class_log_prior_

    @property
    def contract_(self) -> Any:
        """What `describe` found in the columns of a data frame; None if nobody asked."""
        return self.estimator_.contract_

    @property
    def model_(self) -> ModelView:
        """What analyses may ask of `estimator_`, a frozen `ModelView`."""
        return self.estimator_.model_

    # --- a model like others ----------------------------------------------------------------------------------------

    def loo(self, X: Any, y: Any, sample_weight: Any = None, *, prior: str = "kept", groups: Any = None) -> LooResult:
        """Leave-one-out of the calibrated model: calibrated probabilities of each row by all other rows.

        The naive Bayes model inside is exact without the row. The row is left out of the map by weights of the map's
        draws, 1 / p(y_i). It stays in the log probabilities of the other rows, which the map was fitted to.

        With groups, all rows of a group are left out together. Without groups, copies of a row are, as in `fit`; they
        are one term of `se`. See `LooResult`.

        Parameters
        ----------
        X, y, sample_weight, prior, groups : as in `loo` of the estimator
        """
        check_is_fitted(self, "maps_")
        fitted = self.estimator_  # the naive Bayes model, without the map
        rows = fitted.model_.encode(X)
        index = fitted.model_.class_index(y)  # class number of each row
        weights = row_weights(sample_weight, len(index))

        # 1. Which rows are left out together: groups, or copies of a row. `leaving.group` numbers them, (n,); None if
        # each row is left out alone.
        leaving = _leaving(fitted, rows, index, weights, groups)

        # 2. Exact leave-one-out of the naive Bayes model.
        plain = fitted.loo(X, y, weights, prior=prior, groups=leaving.group if groups is None else groups)

        # 3. The calibrated probabilities of each row, by maps that were not fitted to the row. If there were very many
        # rows, the maps were fitted to some of them. The others have the weight 0 here: nothing is to be taken out.
        positions_in_map = _chosen_rows(weights.values, leaving.group)
        is_in_map = np.isin(np.arange(len(index)), positions_in_map)
        table = LeftOut(
            z=floored(plain.log_proba),  # (n, c), without the row
            code=index,
            weight=np.where(is_in_map, leaving.weight, 0.0),  # how much a row counts in the fit of the maps
            leaving=np.where(is_in_map, leaving.unit, 0.0),  # how much of this is taken out with the row
            group=leaving.group,
            are_dependent=groups is not None,
            n_copies=leaving.n_copies,
            class_prior=self.class_prior_,
        )
        without_row = average_without_rows(self.maps_, table.leaving_from(self.maps_))  # p, (n, c)

        # 4. The result of step 2, where these probabilities take the place of those before calibration; and the same
        # by all rows, the row itself included, to show how much each row matters.
        log_joint = fitted.posterior_.log_joint(rows)  # log p(x_i, y = c) by all rows, (n, c)
        of_all_rows = _with_proba(log_joint, self.calibrated(log_normalize(log_joint)))
        return _with_tables(plain, _with_proba(plain.log_joint, without_row), of_all_rows)

    def numpyro_model(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        """The regression of the labels on their leave-one-out table in NumPyro, for the most probable map.

        Parameters
        ----------
        X, y, sample_weight, groups : the training rows. The draws of `maps_` approximate the posterior that NUTS
            samples on this model, restricted to increasing maps: of NUTS's draws keep those for which `is_increasing`
            of the map holds. The site `theta` has u, the entries of O and b with a prior, and logit ε
        """
        rows = self.left_out(X, y, sample_weight, groups)
        numpyro_model(most_probable(self.maps_), rows.z, rows.code, rows.weight)

    def left_out(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "LeftOut":
        """Training rows, each predicted by all rows that do not leave with it; log p floored. Provisional."""
        rows = left_out_rows(self.estimator_, X, y, sample_weight, groups)
        return rows._replace(z=floored(rows.z))

    def check(self, X: Any, y: Any, seed: int = 0, *, sample_weight: Any = None) -> "CheckReport":
        """The check of the estimator, and of the map against NumPyro: density, mode, and draws of NUTS.

        Clones are fitted to one half of the rows. The other half gives the log loss and the calibration error of the
        estimator and of the calibrated classifier.

        Parameters
        ----------
        X, y : rows and labels, at least two rows
        seed : seed of the split, of the random parameters and of the chains
        sample_weight : (n,) weights of an integer type, which count rows: each of them leaves alone

        Raises
        ------
        ValueError
            if weights are importance, which NumPyro's model of the rows does not have
        """
        from ..check.laplace import check
        from .checking import map_rows

        return check(self, "estimator_", "calibrated", X, y, sample_weight, seed, map_rows)


def _with_proba(log_joint: Table, proba: Table) -> Table:
    """log p(x_i, y = c), (n, c), with these class probabilities, and with log p(x_i) as it was.

    By the chain rule log p(x, y) = log p(x) + log p(y | x).
    """
    log_density = np.logaddexp.reduce(log_joint, axis=1)  # log p(x_i) = log Σ_c p(x_i, y = c)
    return log_density[:, None] + np.log(proba)


def _with_tables(result: LooResult, left_out: Table, of_all_rows: Any) -> LooResult:
    """A leave-one-out result with other tables log p(x_i, y = c), (n, c): by all other rows, and by all rows.

    Parameters
    ----------
    result : its labels, weights and class prior stay
    left_out : each row predicted without itself
    of_all_rows : each row predicted by all rows, itself included; how much a row matters is the difference
    """
    # A result adds up a log class prior and a table for each block of columns. One table, "x", takes the place of all
    # of these: what `left_out` has beyond the prior. For the table of all rows it calls `_posterior.log_joint(_rows)`.
    # `Known.log_joint` returns its argument, so that the table itself can be given for the rows.
    return replace(
        result,
        by_block={"x": left_out - result.log_prior},
        _posterior=Known,
        _rows=of_all_rows,
    )


def _log_loss(rows: "LeftOut", log_p: Table) -> float:
    """Weighted mean of −log p(y_i | …), in nats a row."""
    of_label = log_p[np.arange(len(rows.code)), rows.code]
    return -float(np.average(of_label, weights=rows.weight))


# --- rows that a map is learnt from -----------------------------------------------------------------------------------


class LeftOut(NamedTuple):
    """Training rows, at most 2,500 of them, each predicted by all rows that do not leave with it.

    Fields
    ------
    z : (n, c) log p(y = c | x_i, D₋ᵢ), nats
    code : (n,) class of each row
    weight : (n,) how much each counts for the map
    leaving : (n,) how much of that leaves with the row
    group : (n,) rows that leave together; None where each leaves alone
    are_dependent : whether the groups were given: their rows depend on each other, and count as fewer for the map
    n_copies : how many of all rows are copies of another row
    class_prior : (c,) class probabilities of all rows
    """

    z: Table
    code: Int[np.ndarray, " n"]
    weight: PerRow
    leaving: PerRow
    group: Int[np.ndarray, " n"] | None
    are_dependent: bool
    n_copies: int
    class_prior: Float[np.ndarray, " c"]

    def leaving_from(self, maps: tuple[CalibrationMap, ...]) -> LeavingRows:
        """Each row with the weight by which its log likelihood is taken out of the maps, to predict it without itself.

        A map is a regression of the labels on z. It was fitted to the log likelihood Σ_i w_i log p'(y_i | z_i). Row i
        is taken out by subtracting its term, w_i log p'(y_i | z_i). Two cases:

        - A row by itself, or one of several copies of a row: w_i is `leaving`.
        - A row of a group that the user gave. The rows of a group resemble each other, so the fit counted them as
          fewer rows, by dividing their weights by a factor: by 5 if each row occurs five times. What is taken out must
          be divided by this factor too.

        Parameters
        ----------
        maps : the four fitted models of the map; maps[1] is the power map
        """
        rows = LeavingRows(self.z, self.code, self.leaving, self.group)
        if self.group is None or not self.are_dependent:
            return rows

        # The factor, computed as in the fit: from the residuals, label − probability, of the power map, in the rows
        # that the maps were fitted to. These have a positive weight.
        in_map = self.weight > 0
        one_hot_label = np.eye(self.z.shape[1])[self.code]  # (n, c)
        labelled = Labelled(self.z[in_map], one_hot_label[in_map], self.weight[in_map])
        power = maps[1]
        factor = times_that_rows_repeat(power, labelled, self.group[in_map])
        return rows._replace(weight=self.leaving / factor)


class _Leaving(NamedTuple):
    """What leaves with each row, and how much the row counts.

    Fields
    ------
    group : (n,) rows that leave together, 0 … g−1; None where each leaves alone
    weight : (n,) how much a row counts for the map
    unit : (n,) how much of that leaves with the row
    n_copies : how many rows are copies of another row
    """

    group: Int[np.ndarray, " n"] | None
    weight: PerRow
    unit: PerRow
    n_copies: int


def left_out_rows(nb: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> LeftOut:
    """The rows that a calibration map is fitted to: log p(y = c) of each row, by the model without this row.

    Rows of a group, and copies of a row, are left out together.

    Parameters
    ----------
    nb : the fitted estimator
    X, y, sample_weight : the rows that it was fitted to
    groups : (n,) labels of groups of rows that are left out together; None for no groups
    """
    # 1. Encoded cells, class numbers and weights; which rows are left out together, and how much each counts.
    rows = nb.model_.encode(X)
    index = nb.model_.class_index(y)
    weights = row_weights(sample_weight, len(index))
    leaving = _leaving(nb, rows, index, weights, groups)

    # 2. Choose at most 2,500 rows at random, in whole groups, and number the groups 0 … g − 1 again.
    chosen = _chosen_rows(weights.values, leaving.group)  # positions
    group = None
    if leaving.group is not None:
        _, group = np.unique(leaving.group[chosen], return_inverse=True)

    # 3. Predict each chosen row by all rows but itself and its group: also by those that were not chosen.
    table = _log_proba(nb, rows_at(rows, chosen), index[chosen], weights.rows(chosen), group)  # (chosen, c)

    # 4. The class frequencies are those of all rows.
    class_weight = np.bincount(index, leaving.weight, len(nb.classes_))  # (c,)
    return LeftOut(
        z=table,
        code=index[chosen],
        weight=leaving.weight[chosen],
        leaving=leaving.unit[chosen],
        group=group,
        are_dependent=groups is not None,
        n_copies=leaving.n_copies,
        class_prior=class_frequencies(class_weight),
    )


def _leaving(nb: Any, rows: Rows, index: Int[np.ndarray, " n"], weights: RowWeights, groups: Any) -> _Leaving:
    """Which rows leave-one-out leaves out together; how much a row counts, and how much of that is left out.

    There are three cases. Example: three rows, of which the first and the last are in a group, or are copies.

                              together     weight      unit that is left out
        groups were given     0 1 0        3 2 3       3 2 3      the group as a whole
        copies of a row       0 1 0        1.5 2 1.5   1.5 2 1.5  as one row: each weight is divided by the 2 copies
        neither               each alone   3 2 3       1 1 1      one of the 3 equal rows that the row stands for;
                                                                  3 2 3 if weights are importance

    Parameters
    ----------
    nb : the fitted estimator, which says whether equal rows may be so by chance
    rows, index : encoded rows, and their classes
    weights : of the rows
    groups : (n,) labels of groups that the user gave; None for no groups
    """
    # Groups were given.
    n = len(index)
    if groups is not None:
        return _Leaving(group_places(groups, n), weight=weights.values, unit=weights.values, n_copies=0)

    # Neither. `weights.leaving` has 1 for a count, and all of the weight for an importance.
    copied = groups_of_copies(nb, rows, index, weights)  # the same number for copies, (n,); None if there are none
    if copied is None:
        return _Leaving(None, weight=weights.values, unit=weights.leaving, n_copies=0)

    # Copies.
    size_of_group = np.bincount(copied)  # 2 1 in the example
    as_one_row = weights.values / size_of_group[copied]
    return _Leaving(copied, weight=as_one_row, unit=as_one_row, n_copies=n - len(size_of_group))


def _chosen_rows(weight: PerRow, group: Int[np.ndarray, " n"] | None) -> Int[np.ndarray, " k"]:
    """Positions of the rows of positive weight: all, or about 2,500 in whole groups at random where there are more.

    The choice is the same in each call.

    Parameters
    ----------
    weight : of each row
    group : number of the group of each row, of rows that leave together; None where each is alone
    """
    rows = np.flatnonzero(weight > 0)
    if len(rows) <= _MAX_ROWS:
        return rows

    # Shuffle the groups, and take as many as have 2,500 rows on average. Without groups each row is one.
    group_of_row = rows if group is None else group[rows]
    shuffled = np.random.default_rng(0).permutation(np.unique(group_of_row))
    n_groups = max(1, _MAX_ROWS * len(shuffled) // len(rows))
    return rows[np.isin(group_of_row, shuffled[:n_groups])]


def _log_proba(
    nb: Any, rows: Rows, index: Int[np.ndarray, " n"], weights: RowWeights, group: Int[np.ndarray, " n"] | None
) -> Table:
    """log p(y = c | x_i, D₋ᵢ), (n, c): without all rows of the group, or without one unit of a row that counts several.

    Parameters
    ----------
    rows, index, weights : encoded rows, the class of each, and their weights
    group : (n,) rows that leave together share a number; None where each leaves alone
    """
    leaving = weights if group is None else replace(weights, are_counts=False)  # not as counts they leave whole
    model = nb.model_
    return leave_out(model, rows, index, leaving, group, model.loo_prior, scores=True).log_proba


def groups_of_copies(
    nb: Any, rows: Rows, index: Int[np.ndarray, " n"], weights: RowWeights
) -> Int[np.ndarray, " n"] | None:
    """A number for each row, 0 … g − 1, which copies of a row share; None if no row is a copy.

    A copy is one observation that was entered again. Two rows with the same cells and class are copies if chance cannot
    explain it: if they have fractions, as measurements are hardly ever equal, or, with whole numbers only, if the model
    expects less than 0.01 such rows. Weights of an integer type declare that equal rows are different observations.

    Parameters
    ----------
    nb : the fitted estimator
    rows, index, weights : encoded rows by block, the class of each, and their weights
    """
    if weights.are_given and weights.are_counts:
        return None

    # 1. Number the rows: the same number where cells and class are equal. With 0 1 0, rows 0 and 2 have an equal.
    number = copies(rows, index)
    has_equal = np.bincount(number)[number] > 1
    if not has_equal.any():
        return None

    # 2. Rows that are equal by chance are no copies: each gets a number of its own, from n on.
    by_chance = _equal_by_chance(nb, rows, index, np.flatnonzero(has_equal))  # positions
    number[by_chance] = len(index) + np.arange(len(by_chance))

    # 3. Close the gaps: 0 7 3 0 becomes 0 2 1 0. If there are as many numbers as rows, no row is a copy.
    _, group = np.unique(number, return_inverse=True)
    has_copies = group.max() < len(index) - 1
    return group if has_copies else None


def _equal_by_chance(
    nb: Any, rows: Rows, index: Int[np.ndarray, " n"], equal_rows: Int[np.ndarray, " k"]
) -> Int[np.ndarray, " m"]:
    """Positions of the rows, among those that have an equal, that the model expects to occur more than once by chance.

    Equal rows with fractions are never so, as equal measurements hardly occur by chance.

    Parameters
    ----------
    nb : the fitted estimator
    rows, index : all encoded rows by block, and the class of each
    equal_rows : positions of the rows that are looked at
    """
    has_fraction = np.any([has_fractions(x) for x in rows_at(rows, equal_rows).values()], axis=0)  # in some block
    of_whole_numbers = equal_rows[~has_fraction]
    if len(of_whole_numbers) == 0:
        return of_whole_numbers
    log_expected = _log_expected_rows(nb, rows_at(rows, of_whole_numbers), index[of_whole_numbers], index)
    return of_whole_numbers[log_expected > np.log(_SAME_BY_CHANCE)]


def _log_expected_rows(
    nb: Any, rows: Rows, label: Int[np.ndarray, " k"], index: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " k"]:
    """log of how many rows equal to these the model expects in their class: log (rows of the class · p(x | class)).

    Parameters
    ----------
    nb : the fitted estimator
    rows, label : k encoded rows, and their classes
    index : classes of all rows
    """
    log_density = nb.posterior_.log_parts(rows, [list(rows)])[0]  # of all blocks together, (k, c)
    n_of_class = np.bincount(index)[label]
    return np.log(n_of_class) + log_density[np.arange(len(label)), label]


def has_fractions(X: Any) -> np.ndarray:
    """Whether a row has a cell that is no whole number."""
    remainder = X - X.floor() if is_sparse(X) else X - np.floor(X)
    return np.asarray((remainder > 0).sum(1)).ravel() > 0
