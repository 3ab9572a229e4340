"""Priors as objects: families, NumPyro distributions, mappings of fields, columns and levels."""

import copy
import pickle
from typing import Any

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import bayesnb
from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    FamilyNB,
    GaussianDA,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    families,
)
from bayesnb.estimators import ComplementNB, ExponentialNB
from bayesnb.numerics.distributions import alike, describe

from ..estimators_table import ALL, WHOLE

RNG = np.random.default_rng(1)
YES = (RNG.random((24, 3)) > 0.5).astype(float)
COUNTS = RNG.poisson(2.0, (24, 3)).astype(float)
REALS = RNG.normal(size=(24, 3))
LABELS = np.arange(24) % 2


def block(nb: Any, X: Any, y: Any = LABELS) -> Any:
    """The prior of the features, fitted."""
    return nb.fit(X, y).prior_.blocks["x"]


NIG = {"m": 0.5, "kappa": 1.0, "a": 2.0, "b": 3.0}
FORMS = [
    (BernoulliNB, YES, dist.Beta(3.26, 7.19), {"a": 3.26, "b": 7.19}),
    (PoissonNB, COUNTS, dist.Gamma(2, 1), {"a": 2, "b": 1}),
    (ExponentialNB, COUNTS, dist.Gamma(2, 3), {"a": 2, "b": 3}),
    *((type(nb), COUNTS, dist.Beta(2, 3), {"a": 2, "b": 3}) for nb in WHOLE),
    (MultinomialNB, COUNTS, dist.Dirichlet(np.array([5.0, 1.0, 2.0])), {"alpha": [5, 1, 2]}),
    (ComplementNB, COUNTS, dist.Dirichlet(np.array([5.0, 1.0, 2.0])), {"alpha": [5, 1, 2]}),
    (lambda **own: FamilyNB(families.GammaPoisson(1.0, 1.0), **own), COUNTS, dist.Gamma(2, 1), {"a": 2, "b": 1}),
    (lambda **own: GaussianNB(known_variance=4.0, **own), REALS, dist.Normal(1, 2), {"m": 1, "kappa": 1}),
    (lambda **own: GaussianDA(covariance="identity", **own), REALS, dist.Normal(1, 2).expand([3]).to_event(1), {"m": 1,
     "kappa": 0.25}),
]  # fmt: skip


def test_a_distribution_and_its_fields_are_one_prior() -> None:
    for estimator, X, distribution, fields in FORMS:
        stated, named = (block(estimator(prior=prior), X) for prior in (distribution, fields))
        family = block(estimator(prior=type(named)(**{key: getattr(named, key) for key in named.fields_})), X)
        for key in named.fields_:
            np.testing.assert_array_equal(getattr(stated, key), getattr(named, key))
            np.testing.assert_array_equal(getattr(stated, key), getattr(family, key))
        for key, value in fields.items():
            np.testing.assert_array_equal(getattr(named, key), np.broadcast_to(value, (2, 3)))


def test_a_column_of_its_own() -> None:
    frame = pd.DataFrame(YES, columns=["a1", "b1", "c1"])
    by_name = block(BernoulliNB(prior={"b1": dist.Beta(2, 8), 2: {"a": [3, 4], "b": 1}}), frame)
    assert by_name.a.tolist() == [[1, 2, 3], [1, 2, 4]] and by_name.b.tolist() == [[1, 8, 1], [1, 8, 1]]
    by_class = block(BernoulliNB(prior={1: dist.Beta(np.array([2.0, 5.0]), 8)}), YES)
    assert by_class.a[:, 1].tolist() == [2, 5]
    assert block(MultinomialNB(alpha=0.5, prior={2: 7.0}), COUNTS).alpha.tolist() == [[0.5, 0.5, 7]] * 2
    pooled = block(GaussianNB(variance="pooled", prior={1: {**NIG, "m": [0.5, 1.5]}}), REALS)
    assert pooled.b[1] == 3 and pooled.m[:, 1].tolist() == [0.5, 1.5] and pooled.kappa[0].tolist() == [0.1, 1, 0.1]
    known = block(GaussianNB(known_variance=4.0, prior={1: dist.Normal(1, np.array([1.0, 2.0]))}), REALS)
    assert known.kappa[:, 1].tolist() == [4, 1]
    named = MixedNB([("x", PoissonNB(prior={"b1": dist.Gamma(2, 1)}), ["b1"]), ("r", GaussianNB(), ["a1", "c1"])])
    assert named.fit(frame, LABELS).prior_.blocks["x"].a.tolist() == [[2], [2]]


def test_levels_have_pseudo_counts() -> None:
    frame = pd.DataFrame({"sky": list("abcabc"), "wind": list("xyxyxy")})
    labels = [0, 1, 0, 1, 1, 0]
    prior = {"sky": np.array([[5.0, 1.0, 2.0], [5.0, 1.0, 3.0]]), "wind": [0.5, 7]}
    found = CategoricalNB(prior=prior).fit(frame, labels).prior_.blocks
    assert found["levels_3"].alpha[:, 0].tolist() == [[5, 1, 2], [5, 1, 3]]
    assert found["levels_2"].alpha[:, 0].tolist() == [[0.5, 7], [0.5, 7]]
    same = CategoricalNB(prior=dist.Dirichlet(np.array([5.0, 1.0, 1.0]))).fit(frame[["sky"]], labels)
    assert same.prior_.blocks["levels_3"].alpha.tolist() == [[[5, 1, 1]]] * 2


REFUSED = [
    (BernoulliNB(prior=dist.Beta(np.ones(2), np.ones(2))), YES[:, :2], "ambiguous"),
    (BernoulliNB(prior={"a": [1, 2], "b": 1}), YES[:, :2], "ambiguous"),
    (BernoulliNB(prior=dist.Beta(np.ones(5), 1)), YES, r"\(2, 3\)"),
    (BernoulliNB(prior=dist.Gamma(1, 2)), YES, "Beta"),
    (BernoulliNB(prior=families.GammaPoisson(1.0, 1.0)), YES, "BetaBernoulli"),
    (BernoulliNB(alpha=2, prior=dist.Beta(1, 2)), YES, "`alpha`"),
    (PoissonNB(beta=2, prior=dist.Gamma(1, 2)), COUNTS, "`beta`"),
    (BernoulliNB(prior={"a": 1, "bb": 2}), YES, "'bb'"),
    (BernoulliNB(prior={"a": 1}), YES, "lacks b"),
    (BernoulliNB(prior={7: dist.Beta(1, 2)}), YES, "positions 0 to 2"),
    (CategoricalNB(prior={(0, "x"): 1}), YES, "neither a column"),
    (BernoulliNB(prior={}), YES, "empty"),
    (BernoulliNB(prior="beta"), YES, "'beta'"),
    (BernoulliNB(prior={0: {"a": -1, "b": 2}}), YES, "prior.0..a"),
    (GaussianNB(prior=(dist.Normal(0, 1), dist.InverseGamma(1, 1))), REALS, "needs a family"),
    (GaussianNB(prior={"mu": dist.Normal(0, 1), "variance": dist.InverseGamma(1, 1)}), REALS, "not a field of"),
    (GaussianNB(prior={1: dist.Normal(0, 1)}), REALS, "not conjugate"),
    (GaussianDA(prior={0: {"m": 0, "kappa": 1, "nu": 5, "S": 1}}), REALS, "share one"),
]


# --- labels of pandas ---

FRAME, NAMED = pd.DataFrame(COUNTS, columns=["p", "q", "r"]), np.where(LABELS, "yes", "no")
PER_CLASS, PER_FEATURE = pd.Series([0.2, 0.8], ["no", "yes"]), pd.Series([1.0, 2.0, 3.0], FRAME.columns)
TABLE = pd.DataFrame(np.arange(1.0, 7).reshape(2, 3), PER_CLASS.index, FRAME.columns)
SQUARE = pd.DataFrame(np.diag([1.0, 2.0, 3.0]), FRAME.columns, FRAME.columns)
LABELLED: list[tuple[Any, Any]] = [
    *((lambda v, key=key: GaussianNB(**{key: v}), PER_CLASS) for key in ("class_prior", "priors", "class_alpha")),
    (lambda v: bayesnb.with_class_prior(GaussianNB().fit(FRAME, NAMED), v), PER_CLASS),
    *((lambda v: GaussianNB(known_variance=v), value) for value in (PER_FEATURE, TABLE)),
    *((lambda v: bayesnb.KernelNB(bandwidth=v), value) for value in (PER_FEATURE, TABLE)),
    *((lambda v, kind=kind: kind(alpha=v), PER_FEATURE) for kind in (BernoulliNB, MultinomialNB, CategoricalNB)),
    *((lambda v, key=key: PoissonNB(**{key: v}), TABLE) for key in ("alpha", "beta")),
    *((lambda v: GaussianNB(prior={**NIG, "m": v}), value) for value in (PER_FEATURE, TABLE)),
    (lambda v: GaussianNB(prior={"q": {**NIG, "m": v}}), PER_CLASS),
    (lambda v: GaussianNB(prior=families.NormalInverseGamma(v, 1.0, 2.0, 3.0)), TABLE),
    (lambda v: GaussianDA(prior={"m": 0, "kappa": 1, "nu": 4, "S": v}), SQUARE),
    (lambda v: MixedNB([("g", GaussianNB(known_variance=v), ["r", "p", "q"])]), TABLE),
    (lambda v: bayesnb.ForwardSelection(class_alpha=v), PER_CLASS),
]


@pytest.mark.parametrize(("estimator", "value"), LABELLED)
def test_labels_of_pandas_are_followed(estimator: Any, value: Any) -> None:
    """In whatever order they come; other labels are refused, and a default index counts positions."""

    def predicted(value: Any) -> Any:
        nb = estimator(value)
        return (nb if hasattr(nb, "classes_") else nb.fit(FRAME, NAMED)).predict_proba(FRAME)

    expected, plain = predicted(value), value
    np.testing.assert_array_equal(predicted(value.iloc[(slice(None, None, -1),) * value.ndim]), expected)
    if not isinstance(estimator(value), MixedNB):  # whose part has its columns in another order
        for axis in range(value.ndim):
            plain = plain.set_axis(pd.RangeIndex(value.shape[axis]), axis=axis)
        np.testing.assert_array_equal(predicted(plain), expected)
        np.testing.assert_array_equal(predicted(value.to_numpy()), expected)
    for wrong in (["no", "p", "other"], ["no", "no", "p"]):
        with pytest.raises(ValueError, match=r"` has the labels \['no', .*; it needs each of \['"):
            predicted(value.set_axis(wrong[: value.shape[0]], axis=0))


def test_what_is_wrong_is_named() -> None:
    both = pd.DataFrame(YES, columns=["a", "b", "c"])  # a column and a field have one name
    for nb, X, text in [*REFUSED, (BernoulliNB(prior={"a": dist.Beta(1, 2)}), both, "by its position")]:
        with pytest.raises(ValueError, match=text):
            nb.fit(X, LABELS)


def test_leave_one_out_refits_only_what_follows_the_rows() -> None:
    for nb, X in (
        (PoissonNB(prior={0: dist.Gamma(2, 1)}), COUNTS),
        (ExponentialNB(prior={1: dist.Gamma(2, 1)}), COUNTS),
        (GaussianNB(prior={2: NIG}), REALS),
        (BernoulliNB(alpha="clop", prior={2: dist.Beta(2, 8)}), YES),
    ):
        found = clone(nb).fit(X, LABELS).loo(X, LABELS, prior="refit").log_proba
        for i in (0, 7, 23):
            others = np.arange(24) != i
            without = clone(nb).fit(X[others], LABELS[others]).predict_log_proba(X[[i]])[0]
            np.testing.assert_allclose(found[i], without, atol=1e-12)


def test_equal_distributions_are_the_same_prior(tmp_path: Any) -> None:
    prior = {0: dist.Beta(3.26, 7.19), 2: dist.Beta(np.array([1.0, 2.0]), 3.0).expand([2])}
    nb = BernoulliNB(prior=prior)
    assert nb.get_params()["prior"] is prior  # __init__ keeps the object
    first, other = clone(nb).fit(YES[:12], LABELS[:12]), clone(nb).fit(YES[12:], LABELS[12:])
    assert first.merge(other).statistics_.n.sum() == 24
    with pytest.raises(ValueError, match="prior"):
        first.merge(BernoulliNB(prior={**prior, 0: dist.Beta(3.26, 7.2)}).fit(YES, LABELS))
    first.save(tmp_path / "model")
    loaded = bayesnb.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_log_proba(YES), first.predict_log_proba(YES))
    assert loaded.merge(other).statistics_.n.sum() == 36
    assert pickle.loads(pickle.dumps(first)).prior.keys() == prior.keys()
    assert copy.deepcopy(first).merge(loaded).statistics_.n.sum() == 60


def test_what_a_distribution_is() -> None:
    gamma = dist.Gamma(2, 1)
    assert gamma != dist.Gamma(2, 1) and alike(gamma, dist.Gamma(2, 1)) and not alike(gamma, dist.Gamma(2, 3))
    assert not alike(gamma, dist.Beta(2, 1))
    cut, other, same = (dist.TruncatedNormal(0.0, 1.0, low=low) for low in (0.0, 0.5, 0.0))
    assert alike(cut, same) and not alike(cut, other)
    assert describe(gamma) == "Gamma(concentration=2, rate=1)"


def test_a_summary_says_the_prior_in_words() -> None:
    frame = pd.DataFrame(YES, columns=["a1", "b1", "c1"])
    text = BernoulliNB(prior={"b1": dist.Beta(2, 8)}).fit(frame, LABELS).prior_summary()
    rows = YES[:, 1].reshape(-1, 2).mean(0)
    assert repr(text) == str(text) and "a1, c1 ~ Beta(1, 1)" in text and "24 rows of 2 classes" in text
    low, middle, high = stats.beta(2, 8).ppf([0.05, 0.5, 0.95])
    alone = f"{rows.min():.3g}" + (f" to {rows.max():.3g}" if rows[0] != rows[1] else "")
    assert (
        f"b1 ~ Beta(2, 8)\n    probability: {middle:.4g}, 90 % in {low:.3g} to {high:.3g}; the rows alone: {alone}"
        in text
    )
    levels = pd.DataFrame({"sky": list("abcabc") * 4, "x": REALS[:, 0]})
    mixed = MixedNB().fit(levels, LABELS).prior_summary()
    assert "sky ~ Dirichlet(1)\n    probability: 0.2929" in mixed and "x ~ NormalInverseGamma(m=" in mixed
    improper = GaussianNB(prior={"m": 0, "kappa": 0, "a": -0.5, "b": 0}).fit(REALS, LABELS).prior_summary()
    assert "improper" in improper
    many = GaussianNB().fit(RNG.normal(size=(24, 22)), LABELS).prior_summary()
    assert many.endswith("… and 2 more")

    for nb in ALL:
        found = clone(nb).fit(COUNTS, LABELS).prior_summary()
        assert found.startswith(f"Prior of {type(nb).__name__}, beside 24 rows") and "nan" not in found
