"""`check_family`: every law on a family, its random priors and rows made from what the family says of itself."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ..base import Block
from ..core.supports import GIVEN_TOTALS, Field
from ..sampling.closed_estimates import kind_of
from . import laws, twin_laws
from .cases import C, Family, counts, positive, reals, spread

_MOST_COUNT = 4000  # counts over which a predictive is summed

Law = Callable[[Family], None]


class BrokenLaw(AssertionError):
    """Raised if a family breaks a law; the message names the law and what was found."""


def laws_of(family: Family) -> dict[str, Law]:
    """The laws that a family has to obey, by name."""
    always = [
        laws.what_a_family_says_of_itself_is_true,
        laws.statistics_are_a_commutative_monoid,
        laws.split_anywhere_and_merge_in_any_order,
        laws.forgetting_undoes_adding,
        laws.updates_chain,
        laws.soft_labels_dense_and_sparse,
        laws.weights_are_repetitions,
        laws.evidence_is_the_ratio_of_normalisers,
        laws.predictive_is_a_ratio_of_evidences,
        laws.prediction_row_by_row_sums_to_the_evidence,
        laws.leaving_a_row_out_equals_a_refit_without_it,
        laws.a_row_of_no_weight_is_predicted_by_all_others,
        laws.a_row_that_is_nearly_all_there_is_leaves_finite_numbers,
        laws.scores_are_log_densities_up_to_a_term_of_the_row,
        laws.likelihood_is_a_ratio_of_densities,
        laws.cumulants_are_slopes_of_the_evidence,
        laws.estimates_and_marginals_are_those_of_the_density,
        laws.draws_follow_their_density,
        twin_laws.parameters_survive_the_round_trip_to_sites,
        twin_laws.likelihood_is_numpyros,
        twin_laws.bayes_identity,
        twin_laws.gradient_is_zero_at_an_interior_mode,
        twin_laws.mode_on_the_boundary_is_a_point,
        twin_laws.mean_and_moments_are_those_of_draws,
        twin_laws.draws_follow_their_marginals,
        functools.partial(twin_laws.draws_follow_their_marginals, source="jax"),
        functools.partial(twin_laws.numpy_and_jax_agree_in_both_precisions, dtype="float64"),
        functools.partial(twin_laws.numpy_and_jax_agree_in_both_precisions, dtype="float32"),
        twin_laws.pytrees_vmap_and_grad_over_hyperparameters,
    ]
    some = {
        laws.sparse_rows_equal_dense_rows: family.sparse,
        laws.a_missing_cell_is_a_cell_left_out: family.missing,
        laws.predictive_sums_to_one_and_new_rows_follow_it: not family.composite,
    }
    found: list[Any] = [*always, *(law for law, holds in some.items() if holds)]
    return {_name(law): law for law in found}


def _name(law: Any) -> str:
    if isinstance(law, functools.partial):
        return f"{law.func.__name__} ({', '.join(law.keywords.values())})"
    return law.__name__


def check_family(family: Block) -> None:
    """Test every law on a family, as `sklearn.utils.estimator_checks.check_estimator` does for estimators.

    The tests use 3 classes, 4 features and 24 rows. Random priors have fields of the size of the given ones, and random
    rows follow `cells_`. These are the laws:

    - Statistics add and subtract, and updates chain.
    - The evidence is a ratio of normalisers.
    - The predictive is a ratio of evidences and sums to one.
    - Moments are derivatives of the evidence.
    - Leave-one-out equals a refit without the row.
    - Sparse rows equal dense rows, and missing cells are left out.
    - The NumPyro model satisfies Bayes' identity and has the same likelihood.
    - Modes have zero gradient, and draws follow their density and marginals.
    - NumPy and JAX agree in both precisions.
    - The statements of the family about itself are true.

    Most of the time is compilation.

    Parameters
    ----------
    family : an instance of a family with any number of classes and features; fields may be numbers

    Raises
    ------
    BrokenLaw
        an AssertionError that names the first broken law, and what was found

    Examples
    --------
    >>> from bayesnb import families
    >>> from bayesnb.testing import check_family
    >>> check_family(families.GammaPoisson(1.0, 1.0))
    """
    tried = described(family)
    for name, law in laws_of(tried).items():
        try:
            with jax.enable_x64(True):
                law(tried)
        except Exception as error:
            words = " ".join(name.split("_"))
            raise BrokenLaw(f"{tried.name} breaks the law {words!r}: {error}") from error


def described(family: Block) -> Family:
    """A row of the table of laws, from what a family says of itself."""
    cells, kind, coupled = family.cells_, family.cells_.kind, not family.separable
    levels = max((length for length in _levels(family)), default=2)
    rows: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
        "real": reals,
        "amounts": lambda rng, n, d: rng.gamma(0.7, 3, (n, d)),
        "positive": lambda rng, n, d: np.exp(rng.normal(0.3, 0.7, (n, d))),
        "counts": counts,
        "yes/no": lambda rng, n, d: rng.integers(0, 2, (n, d)).astype(float),
        "levels": lambda rng, n, d: rng.integers(0, levels, (n, d)).astype(float),
    }
    support = {"counts": _MOST_COUNT, "yes/no": 2, "levels": levels}.get(kind)
    one = Family(
        type(family).__name__,
        functools.partial(randomised, family),
        rows[kind],
        support=None if support is None else np.arange(float(support))[:, None],
        missing=family.gaps,
        sparse=cells.sparse,
        composite=family.is_composite,
        whole=1e-9,
        of_posterior=True,
        in_logarithms=kind in ("amounts", "positive"),
    )
    block = one.prior(np.random.default_rng(0), 2)
    simplex = tuple(name for name, site in block.sites().items() if kind_of(site) == "simplex")
    if cells.measure == GIVEN_TOTALS and coupled:
        table = np.array([(i, j, 5 - i - j) for i in range(6) for j in range(6 - i)], float)
        return replace(one, support=table, simplex=simplex, given=(("length", 5),), d=3)
    return replace(one, simplex=simplex)


def _levels(family: Block) -> Iterator[int]:
    for name, field in family.fields_.items():
        if field.axes[-1] == "level":
            yield np.shape(getattr(family, name))[-1]


def randomised(family: Block, rng: np.random.Generator, d: int) -> Block:
    """A prior of C classes and d features, at random about the fields of a family; constants stay what they are."""
    sizes = {"class": C, "feature": d, "one": 1, "level": next(_levels(family), 1)}
    fields = {name: _random(getattr(family, name), field, sizes, rng) for name, field in family.fields_.items()}
    return replace(family, **fields)


def _random(value: Any, field: Field, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    if value is None or not set(field.axes) <= sizes.keys():
        raise ValueError(f"a field of axes {field.axes} cannot be drawn; `check_family` knows numbers and matrices")
    shape = tuple(sizes[axis] for axis in field.axes)
    middle = float(np.mean(value))
    if not field.fitted:
        return np.full(shape, middle)
    if field.support.kind == "matrix":
        return spread(rng, *shape)
    if field.support.kind == "degrees":
        return positive(rng, *shape) + sizes["feature"]
    if field.support.kind == "real":
        return middle + rng.normal(0, 1, shape)
    return middle * positive(rng, *shape) / 2.5
