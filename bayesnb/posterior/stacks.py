"""Many models, each without a few rows, as one model that has the classes of all of them.

In most families each class has parameters of its own. Then b models of c classes are one model of b · c classes: the
first c columns of its table are those of the first model, the next c those of the second, and so on. One call takes the
place of b calls, whose Python work would take most of the time.

    statistics   those of all rows, b times, less those of the rows that leave: row i leaves class b · c + y_i
    priors       one below the other, where each follows its own rows; otherwise the prior b times
    digits       as of a single model: see `posterior.remaining`

Models are made one by one where classes share parameters, and where the statistics are lists of cells. So is a model
whose difference of statistics has fewer than nine digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..models.naive_bayes import NaiveBayes, Rows, Statistics
from ..numerics.arrays import Float, Int
from ..numerics.pytrees import leaves, map_leaves
from ..sums.rows import batches, rows_at
from ..sums.statistics import Counts, Moments, Scatter, Totals, one_hot, repeated
from .folds import FittedRows, Removal, members_by_group
from .remaining import Remaining, find_doubt, is_certain

_MAX_MODELS = 32  # of a stack: its table has all models for each row that leaves, of which one is wanted
_MAX_NUMBERS = 1 << 19  # hyperparameters of a stack: 4 MiB


@dataclass(frozen=True)
class RemainderStack:
    """Models without some rows each, one below the other.

    Fields
    ------
    n_models : b
    members : (k,) positions of the rows that are left out of one model each
    model_of_member : (k,) number of that model, 0 … b − 1
    model : of b · c classes, those of the first model first. Its class probabilities are those of each model up to a
        factor of the model
    """

    n_models: int
    members: Int[np.ndarray, " k"]
    model_of_member: Int[np.ndarray, " k"]
    model: Any

    def log_tables(self, rows: Rows) -> Float[np.ndarray, "b n c"]:
        """log p(x_i, y = c) of n rows under each of the models, up to a term that all classes of a row share."""
        table = self.model.log_table(rows, scores=True)  # (n, b · c)
        return table.reshape(len(table), self.n_models, -1).swapaxes(0, 1)


def remainder_stacks(fitted: Any, data: FittedRows, prior: str, max_models: int) -> Iterator[RemainderStack]:
    """The models without each group of rows, or without each row where there are no groups, many at a time.

    Parameters
    ----------
    fitted, data, prior : as in `folds`
    max_models : how many models a stack may have
    """
    leaving = one_hot(data.label, len(fitted.classes), data.leaving)  # (n, c) sparse
    removal = Removal(fitted, data, prior, leaving)
    group = np.arange(len(data.label)) if data.group is None else data.group
    groups = members_by_group(group, np.flatnonzero(data.leaving > 0))  # positions of rows that leave together

    n_models = min(max_models, _models_at_a_time(fitted))
    for batch in batches(len(groups), n_models):
        yield from _stacks_of(removal, groups[batch])


def _stacks_of(removal: Removal, groups: Sequence[np.ndarray]) -> Iterator[RemainderStack]:
    """A model for each group of rows, fitted to all rows but these: all in one stack where that is accurate enough.

    Such a model needs sums over the remaining rows: the sums over all rows minus those over the group. The difference
    of nearly equal numbers has few correct digits, for example where the group is an outlier with huge squares. So

    1. a single group has a model by itself, which `remainder` makes of sums over the other rows if it must;
    2. the models of several groups are made by one subtraction;
    3. if all of them have nine correct digits, they are one stack;
    4. else the first half of the groups is tried, and then the second half.

    Parameters
    ----------
    removal : all fitted rows; its `remainder` makes the model without some of them
    groups : positions of the rows that leave together, an array for each model
    """
    # 1. One model: all rows that leave are left out of the model with the number 0.
    if len(groups) == 1:
        members = groups[0]
        model = removal.remainder(members).model
        model_of_member = np.zeros(len(members), int)
        yield RemainderStack(n_models=1, members=members, model_of_member=model_of_member, model=model)
        return

    # 2. The sums as computed are `estimate`; the posterior after them has the classes of all models.
    stacking = _Stacking(removal, groups)
    remaining = stacking.remaining_statistics()
    model = stacking.posterior(remaining.estimate)

    # 3. Good enough for all groups.
    if stacking.has_nine_digits(model, remaining):
        yield RemainderStack(
            n_models=len(groups),
            members=stacking.members,
            model_of_member=stacking.model_of_member,
            model=model,
        )
        return

    # 4. Good enough for fewer groups, perhaps. It ends at single groups.
    half = len(groups) // 2
    yield from _stacks_of(removal, groups[:half])
    yield from _stacks_of(removal, groups[half:])


@dataclass(frozen=True)
class _Stacking:
    """How the models without each of b groups of rows are made together.

    Fields
    ------
    removal : the fitted rows, and the prior that the models have
    groups : positions of the rows that leave together, an array for each model
    """

    removal: Removal
    groups: Sequence[np.ndarray]

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """Positions of all rows that leave."""
        return np.concatenate(self.groups)

    @property
    def model_of_member(self) -> Int[np.ndarray, " k"]:
        """The number of the model that each of them leaves."""
        return np.repeat(np.arange(len(self.groups)), [len(members) for members in self.groups])

    def remaining_statistics(self) -> Remaining:
        """The sums over rows that each of b models is made of: those over all rows minus those over its own group.

        The sums are kept by class. Those of b models with c classes each are one table with b · c classes: class y of
        model k has the number k · c + y. With c = 3, a row of class 1 that model 2 lacks is subtracted from class 7.

        Returns
        -------
        The differences twice: `estimate`, as computed, and `moved`, changed by as much as rounding may have changed
        them. If posteriors after the two agree, rounding did no harm
        """
        fitted = self.removal.fitted  # the model of all rows
        data = self.removal.data  # all rows: cells, class numbers `label`, and the weight `leaving` that leaves of each
        members = self.members  # (k,) positions of the rows that leave, group after group
        n_models = len(self.groups)
        n_classes = len(fitted.classes)

        # Sums over the rows that leave, by class of the table: `one_hot` has the weight of each row in the column of
        # its class, and 0 in all other columns.
        class_in_table = self.model_of_member * n_classes + data.label[members]  # (k,)
        weights = one_hot(class_in_table, n_models * n_classes, data.leaving[members])  # (k, b · c)
        removed = fitted.prior.suffstats(rows_at(data.rows, members), weights)

        # The sums over all rows, repeated for each model, minus these. How many rows leave bounds the rounding.
        most_rows = max(len(group) for group in self.groups)
        return fitted.remaining(removed, most_rows, n_models)

    def posterior(self, statistics: Statistics) -> NaiveBayes:
        """The posterior of all models after their statistics."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._prior(statistics).update(statistics)

    def _prior(self, statistics: Statistics) -> NaiveBayes:
        """The prior of all models: that of the fit b times, or what each makes of its own statistics."""
        fitted = self.removal.fitted
        n_models = len(self.groups)
        if self.removal.prior == "kept" or not fitted.prior_follows_rows:
            return repeated(fitted.prior, n_models)
        n_classes = len(fitted.classes)
        priors = [fitted.prior_for(_of_model(statistics, model, n_classes)) for model in range(n_models)]
        return _below_each_other(priors)

    def has_nine_digits(self, posterior: NaiveBayes, remaining: Remaining) -> bool:
        """Whether the first nine digits of all parameters of the posteriors are correct, in spite of rounding.

        They are where the posterior hardly changes when the statistics are moved by the bound of their rounding.
        """
        if is_certain(remaining):  # the statistics alone show it
            return True
        with np.errstate(all="ignore"):
            return find_doubt(posterior, self.posterior(remaining.moved)) is None


def _of_model(statistics: Statistics, model: int, n_classes: int) -> Statistics:
    """The statistics of one model of a stack: its rows of every array."""
    classes = slice(model * n_classes, (model + 1) * n_classes)
    return map_leaves(lambda leaf: leaf[classes] if np.ndim(leaf) else leaf, statistics)


def _below_each_other(models: Sequence[NaiveBayes]) -> NaiveBayes:
    """A model with the classes of several models: all fields have the classes first, and are joined along them."""
    blocks = {name: _joined([model.blocks[name] for model in models]) for name in models[0].blocks}
    return NaiveBayes(_joined([model.classes for model in models]), blocks)


def _joined(blocks: Sequence[Any]) -> Any:
    """The same component of several models with the fields of all of them along the first axis."""
    fields = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in blocks[0].fields_}
    return replace(blocks[0], **fields)


def _models_at_a_time(fitted: Any) -> int:
    """How many models a stack may have: as many as fit into memory, and 1 where models cannot be stacked.

    A model can be where each class has parameters of its own, in every block of columns, and where statistics subtract
    up to a rounding that is known.
    """
    prior = fitted.prior
    if not isinstance(prior, NaiveBayes) or prior.is_improper:
        return 1
    for name, block in prior.blocks.items():
        has_known_rounding = isinstance(fitted.statistics.blocks[name], Counts | Totals | Moments | Scatter)
        if not (block.has_independent_classes and has_known_rounding):
            return 1
    n_numbers = sum(np.size(field) for field in leaves(prior))
    return int(np.clip(_MAX_NUMBERS // n_numbers, 1, _MAX_MODELS))
