"""Priors and hyperparameters over their whole range: a right number, or a ValueError that names field and range.

For each accepted setting the evidence, the joint table and the leave-one-out table are compared with 400-digit
references that know nothing of the package: the evidence of the textbook, and its ratios.
"""

import dataclasses
import importlib
import inspect
import math
from typing import Any

import mpmath as mp
import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.base import clone

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ExponentialNB,
    FamilyNB,
    GaussianDA,
    GaussianNB,
    GeometricNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from bayesnb import families as fam
from bayesnb.analysis.counting import count_parameters
from bayesnb.core import supports
from bayesnb.core.supports import checked_prior
from bayesnb.families.classes import DirichletClasses, FixedClasses

from ..estimators_table import WHOLE, mostly_slow

REALS = np.array([[0.2, 1.0], [1.4, -0.5], [0.9, 2.0], [-1.1, 0.3], [2.2, 0.1], [0.4, -1.7], [1.0, 0.8]])
COUNTS = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 5.0], [2.0, 2.0], [7.0, 1.0], [0.0, 0.0], [1.0, 4.0]])
LABELS = np.array([0, 1, 0, 1, 1, 0, 1])
DIGITS = 400


# --- references: log p(rows of all classes | prior), by family -------------------------------------------------------


def log_gamma(z):
    return mp.loggamma(z)


def log_beta(alpha):
    return mp.fsum(log_gamma(a) for a in alpha) - log_gamma(mp.fsum(alpha))


def normal_inverse_gamma(m, kappa, a, b, cells):
    n = len(cells)
    if not n:
        return mp.mpf(0)
    mean = mp.fsum(cells) / n
    ss = mp.fsum((x - mean) ** 2 for x in cells)
    b_n = b + (ss + kappa * n / (kappa + n) * (mean - m) ** 2) / 2
    ratio = log_gamma(a + mp.mpf(n) / 2) - log_gamma(a) + a * mp.log(b) - (a + mp.mpf(n) / 2) * mp.log(b_n)
    return ratio + mp.log(kappa / (kappa + n)) / 2 - mp.mpf(n) / 2 * mp.log(2 * mp.pi)


def pooled(m, kappa, a, b, by_class):
    n, b_n, level = 0, b, mp.mpf(0)
    for centre, k, cells in zip(m, kappa, by_class, strict=True):
        if cells:
            mean = mp.fsum(cells) / len(cells)
            spread = mp.fsum((x - mean) ** 2 for x in cells)
            b_n += (spread + k * len(cells) / (k + len(cells)) * (mean - centre) ** 2) / 2
            level += mp.log(k / (k + len(cells))) / 2
            n += len(cells)
    half = mp.mpf(n) / 2
    return (
        level + log_gamma(a + half) - log_gamma(a) + a * mp.log(b) - (a + half) * mp.log(b_n) - half * mp.log(2 * mp.pi)
    )


def known(m, kappa, variance, cells):
    n = len(cells)
    if not n:
        return mp.mpf(0)
    mean = mp.fsum(cells) / n
    energy = mp.fsum((x - mean) ** 2 for x in cells) + kappa * n / (kappa + n) * (mean - m) ** 2
    return (mp.log(kappa / (kappa + n)) - n * mp.log(2 * mp.pi * variance) - energy / variance) / 2


def wishart(m, kappa, nu, scale, by_class):
    """Rows of several classes that share one covariance; of one class, where each has its own."""
    d, n, grown, level = len(scale), 0, mp.matrix(scale), mp.mpf(0)
    for centre, k, rows in zip(m, kappa, by_class, strict=True):
        if rows:
            mean = [mp.fsum(row[j] for row in rows) / len(rows) for j in range(d)]
            weight = k * len(rows) / (k + len(rows))
            for i in range(d):
                for j in range(d):
                    grown[i, j] += mp.fsum((row[i] - mean[i]) * (row[j] - mean[j]) for row in rows)
                    grown[i, j] += weight * (mean[i] - centre[i]) * (mean[j] - centre[j])
            level += mp.mpf(d) / 2 * mp.log(k / (k + len(rows)))
            n += len(rows)
    gammas = mp.fsum(log_gamma((nu + n - i) / 2) - log_gamma((nu - i) / 2) for i in range(d))
    dets = nu / 2 * mp.log(mp.det(mp.matrix(scale))) - (nu + n) / 2 * mp.log(mp.det(grown))
    return level + gammas + dets - mp.mpf(n * d) / 2 * mp.log(mp.pi)


def multinomial(alpha, rows):
    coefficients = mp.fsum(log_gamma(mp.fsum(row) + 1) - mp.fsum(log_gamma(x + 1) for x in row) for row in rows)
    total = [a + mp.fsum(row[j] for row in rows) for j, a in enumerate(alpha)]
    return log_beta(total) - log_beta(alpha) + coefficients


def twin(family):
    """The tests of a family, where its formulas are written again with exact numbers."""
    with mp.workdps(DIGITS):  # a module may set a precision of its own when it is imported
        return importlib.import_module(f"..families.test_{family.__module__.rpartition('.')[2]}", __package__)


def log_evidence(block, by_class):
    """log p(rows | prior) of a block, rows (lists of mp numbers) by class."""
    field = {key: np.vectorize(mp.mpf, otypes=[object])(getattr(block, key)) for key in block.fields_ if key != "cells"}
    c, d = block.shape
    columns = [[[row[j] for row in rows] for j in range(d)] for rows in by_class]
    total = mp.mpf(0)
    if isinstance(block, fam.NormalInverseWishart):
        return mp.fsum(
            wishart([field["m"][k]], [field["kappa"][k]], field["nu"][k], field["S"][k].tolist(), [by_class[k]])
            for k in range(c)
        )
    if isinstance(block, fam.TiedNormalInverseWishart):
        return wishart(field["m"], field["kappa"], field["nu"][0], field["S"].tolist(), by_class)
    if isinstance(block, fam.DirichletMultinomial):
        return mp.fsum(multinomial(field["alpha"][k], by_class[k]) for k in range(c))
    if isinstance(block, fam.DirichletComplement):
        others = [[row for other in range(c) if other != k for row in by_class[other]] for k in range(c)]
        return mp.fsum(multinomial(field["alpha"][k], others[k]) for k in range(c))
    for j in range(d):
        if isinstance(block, fam.PooledNormalInverseGamma):
            own = field["m"][:, j], field["kappa"][:, j], field["a"][j], field["b"][j]
            total += pooled(*own, [columns[k][j] for k in range(c)])
            continue
        for k in range(c):
            cells = columns[k][j]
            own = {key: value[k, j] for key, value in field.items()}
            if isinstance(block, fam.NormalInverseGamma):
                total += normal_inverse_gamma(own["m"], own["kappa"], own["a"], own["b"], cells)
            elif isinstance(block, fam.KnownVarianceNormal):
                total += known(own["m"], own["kappa"], own["variance"], cells)
            else:
                fields = ([*value] if np.ndim(value) else value for value in own.values())
                total += twin(type(block)).evidence(cells, *fields)
    return total


def log_labels(classes, n):
    if isinstance(classes, FixedClasses):
        return mp.fsum(k * mp.log(mp.mpf(float(p))) for k, p in zip(n, classes.pi, strict=True) if k)
    alpha = [mp.mpf(float(a)) for a in classes.alpha]
    return log_beta([a + k for a, k in zip(alpha, n, strict=True)]) - log_beta(alpha)


class Reference:
    """log p(X, y) under a fitted estimator's prior, and what follows from it."""

    def __init__(self, nb, X):
        self.prior = nb.prior_
        rows = nb.encode(X)
        self.rows = {
            name: [[mp.mpf(float(v)) for v in row] for row in (x.toarray() if hasattr(x, "toarray") else x)]
            for name, x in rows.items()
        }

    def evidence(self, members):
        """log p of the rows that are members (row, class) of classes."""
        c = len(self.prior.classes.mean()["log_pi"])
        found = log_labels(self.prior.classes, [sum(k == one for _, one in members) for k in range(c)])
        for name, block in self.prior.blocks.items():
            found += log_evidence(block, [[self.rows[name][i] for i, k in members if k == one] for one in range(c)])
        return found

    def joint(self, i, members, c=2):
        """log p(x_i, y = c | members) for each class: ratios of evidences."""
        below = self.evidence(members)
        return [self.evidence([*members, (i, k)]) - below for k in range(c)]


def close(found, expected, what, rtol=1e-9):
    for f, e in zip(np.ravel(found), np.ravel(np.asarray(expected, object)), strict=True):
        assert math.isfinite(f), f"{what}: {f}, right is {mp.nstr(e, 15)}"
        assert abs(mp.mpf(float(f)) - e) <= rtol * max(1, abs(e)), f"{what}: {f}, right is {mp.nstr(e, 15)}"


def verify(nb, X, y, rows=range(7)):
    """Evidence, joint table, leave-one-out, probabilities, intervals and draws of an estimator fitted to X, y."""
    with mp.workdps(DIGITS):
        reference = Reference(nb, X)
        members = [(i, int(k)) for i, k in enumerate(y)]
        rows = list(rows)
        if not nb.prior_.is_improper:
            close(nb.log_evidence_, [reference.evidence(members)], "evidence")
            close(nb.predict_joint_log_proba(X)[rows], [reference.joint(i, members) for i in rows], "joint")
            left = [reference.joint(i, members[:i] + members[i + 1 :]) for i in rows]
            close(nb.loo(X, y).log_joint[rows], left, "leave-one-out")
    sound(nb, X)


def sound(nb, X):
    """What no garbage satisfies: finite and normalised, and the interval an interval."""
    log_p = nb.predict_log_proba(X)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-12)
    interval = nb.predict_interval(X, n_draws=64)
    assert np.isfinite(interval).all()
    assert (interval[..., 0] <= interval[..., 1]).all()
    assert (interval >= 0).all()
    assert (interval <= 1).all()
    parts = nb.uncertainty(X, n_draws=64)
    assert all(np.isfinite(part).all() for part in (parts.total, parts.aleatoric, parts.epistemic))
    draws = nb.sample_proba(X, 20, seed=0)
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-12)


# --- the fuzz ---------------------------------------------------------------------------------------------------------

POWERS = [-323, -8, -5, -2, 0, 2, 5, 8, 308]  # those served, and numbers that nobody means
NUMBERS = [10.0**k for k in POWERS] + [0.5, 3.0, 0.0, -0.5, -1.0, -30.0, -1e-300, math.inf, -math.inf, math.nan]
STRANGE = [
    "1",
    "x",
    None,
    1j,
    10**400,
    -(10**400),
    [1.0, 2.0, 3.0],
    np.zeros((2, 2, 2)),
    [[1.0], ["a"]],
    {"a": 1},
    object(),
]
VALUES = [*NUMBERS, *STRANGE]
NORMAL = {"m": 0.5, "kappa": 1.0, "a": 2.0, "b": 1.5}


def gaussian(**settings):
    return lambda value, key: GaussianNB(prior=fam.NormalInverseGamma(**NORMAL | {key: value}), **settings)


def of_pooled(value, key):
    return GaussianNB(variance="pooled", prior=fam.PooledNormalInverseGamma(**NORMAL | {key: value}))


def of_known(value, key):
    field = {"m": 0.5, "kappa": 1.0, "variance": 4.0, "log_c": 0.0} | {key: value}
    given = 4.0 if field["variance"] is None else field["variance"]
    return GaussianNB(known_variance=given, prior=fam.KnownVarianceNormal(**field))


def of_identity(value, key):
    field = {"m": 0.5, "kappa": 1.0, "variance": 4.0, "log_c": 0.0} | {key: value}
    return GaussianDA(covariance="identity", prior=fam.KnownVarianceNormal(**field))


def of_class(value, key):
    field = {"m": np.zeros((2, 2)), "kappa": 1.0, "nu": 4.0, "S": np.eye(2)}
    if key == "S" and not isinstance(value, list | np.ndarray) and np.ndim(value) == 0 and isinstance(value, float):
        value = value * np.array([[1.0, 0.3], [0.3, 1.0]])
    return GaussianDA(prior=fam.NormalInverseWishart(**field | {key: value}))


def of_shared(value, key):
    block = of_class(value, key).prior
    return GaussianDA(covariance="shared", prior=fam.TiedNormalInverseWishart(block.m, block.kappa, block.nu, block.S))


def in_mixed(value, key):
    return MixedNB([("g", gaussian()(value, key), [0]), ("k", GaussianNB(known_variance=1.0), [1])])


SETTINGS = [
    ("BernoulliNB.alpha", lambda v: BernoulliNB(alpha=v), REALS),
    ("BernoulliNB.class_alpha", lambda v: BernoulliNB(class_alpha=v), REALS),
    ("BernoulliNB.class_prior", lambda v: BernoulliNB(class_prior=v), REALS),
    ("MultinomialNB.alpha", lambda v: MultinomialNB(alpha=v), COUNTS),
    ("ComplementNB.alpha", lambda v: ComplementNB(alpha=v), COUNTS),
    ("CategoricalNB.alpha", lambda v: CategoricalNB(alpha=v), COUNTS.astype(int)),
    ("PoissonNB.alpha", lambda v: PoissonNB(alpha=v), COUNTS),
    ("PoissonNB.beta", lambda v: PoissonNB(beta=v), COUNTS),
    *(
        (f"{type(nb).__name__}.{name}", lambda v, nb=nb, name=name: clone(nb).set_params(**{name: v}), COUNTS)
        for nb in WHOLE
        for name in ("alpha", "beta")
    ),
    ("ExponentialNB.alpha", lambda v: ExponentialNB(alpha=v), abs(REALS)),
    ("ExponentialNB.beta", lambda v: ExponentialNB(beta=v), abs(REALS)),
    ("GaussianNB.known_variance", lambda v: GaussianNB(known_variance=v), REALS),
    ("GaussianNB.class_alpha", lambda v: GaussianNB(class_alpha=v), REALS),
    *((f"GaussianNB.prior.{key}", lambda v, key=key: gaussian()(v, key), REALS) for key in NORMAL),
    *((f"GaussianNB pooled.prior.{key}", lambda v, key=key: of_pooled(v, key), REALS) for key in NORMAL),
    *(
        (f"GaussianNB known.prior.{key}", lambda v, key=key: of_known(v, key), REALS)
        for key in ("m", "kappa", "variance")
    ),
    *(
        (f"GaussianDA identity.prior.{k}", lambda v, key=k: of_identity(v, key), REALS)
        for k in ("m", "kappa", "variance")
    ),
    *(
        (f"GaussianDA class.prior.{key}", lambda v, key=key: of_class(v, key), REALS)
        for key in ("m", "kappa", "nu", "S")
    ),
    *(
        (f"GaussianDA shared.prior.{key}", lambda v, key=key: of_shared(v, key), REALS)
        for key in ("m", "kappa", "nu", "S")
    ),
    *((f"MixedNB.prior.{key}", lambda v, key=key: in_mixed(v, key), REALS) for key in ("kappa", "b")),
]


def attempt(make, name, value, X, rows):
    """Fit with a setting: False where a ValueError names it; True where it is accepted, and verified."""
    field = name.split(".")[-1]
    try:
        nb = make(value).fit(X, LABELS)
    except ValueError as error:
        assert f"{field}`" in str(error) or "`prior` is improper" in str(error), f"{name} = {value!r}: {error}"
        return False
    verify(nb, X, LABELS, rows)
    return True


# of counts and of a family with a matrix
FIRST = "MultinomialNB.alpha", "GaussianDA class.prior.m"


@pytest.mark.parametrize(
    ("name", "make", "X"),
    mostly_slow(SETTINGS, lambda case: case[0] in FIRST),
    ids=[name for name, _, _ in SETTINGS],
)
def test_every_setting_is_right_or_refused(name, make, X):
    """The ends of what is permitted and what lies beyond, and what is no number at all."""
    beyond = [math.nan, math.inf, 1e308, *STRANGE, *([] if name.endswith(".m") else [1e-323, -30.0])]
    for value in beyond:
        if value is not None or "alpha" in name:  # elsewhere None may stand for a default
            assert not attempt(make, name, value, X, [0, 1]), value
    accepted = [value for value in (0.0, -0.5, 1e-8, 1e8) if attempt(make, name, value, X, [0, 1])]
    assert 1e-8 in accepted or name == "BernoulliNB.class_prior" or name.endswith(".nu")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "make", "X"), SETTINGS, ids=[name for name, _, _ in SETTINGS])
def test_every_setting_is_right_or_refused_on_a_fine_grid(name, make, X):
    assert sum(attempt(make, name, value, X, [0, 1, 4]) for value in VALUES) or name == "BernoulliNB.class_prior"


@pytest.mark.parametrize("bandwidth", [1e-8, 1e-3, 1.0, 1e8])
def test_given_bandwidths(bandwidth):
    """Against the sum of kernels, with and without each row."""
    nb = KernelNB(bandwidth=bandwidth).fit(REALS, LABELS)
    with mp.workdps(DIGITS):
        h, X = mp.mpf(bandwidth), [[mp.mpf(float(v)) for v in row] for row in REALS]

        def log_density(i, k, members):
            total = mp.mpf(0)
            for j in range(2):
                u = [(X[i][j] - X[o][j]) / h for o in members if LABELS[o] == k]
                least = min(v * v for v in u) / 2
                kernels = mp.fsum(mp.exp(least - v * v / 2) for v in u)
                total += mp.log(kernels / len(u)) - least - mp.log(h * mp.sqrt(2 * mp.pi))
            n = [sum(LABELS[o] == one for o in members) for one in (0, 1)]
            return total + mp.log(mp.mpf(n[k] + 1) / (sum(n) + 2))

        every = range(len(X))
        close(nb.predict_joint_log_proba(REALS), [[log_density(i, k, every) for k in (0, 1)] for i in every], "joint")
        without = [[log_density(i, k, [o for o in every if o != i]) for k in (0, 1)] for i in every]
        close(nb.loo(REALS, LABELS).log_joint, without, "leave-one-out")


@pytest.mark.parametrize(
    "value", [0, -1, 1e-141, 1e151, math.nan, math.inf, 10**400, None, "x", [1, 2, 3], {}], ids=str
)
def test_bandwidths_out_of_range(value):
    with pytest.raises(ValueError, match="`bandwidth` is"):
        KernelNB(bandwidth=value).fit(REALS, LABELS)


# --- the findings, one by one -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nb", "words"),
    [
        (GaussianNB(prior=fam.NormalInverseGamma(np.nan, 1.0, 1.0, 1.0)), r"`prior\.m` has nan .* finite"),
        (GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, 1.0, -1.0)), r"`prior\.b` has -1 .* positive"),
        (GaussianNB(prior=fam.NormalInverseGamma(0.0, -1.0, 1.0, 1.0)), r"`prior\.kappa` has -1 .* positive"),
        (GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, -0.6, 1.0)), r"`prior\.a` has -0\.6 .* from -0\.5 to 0"),
        (GaussianNB(prior=fam.NormalInverseGamma(0.0, np.ones(3), 1.0, 1.0)), r"`prior\.kappa` has shape \(3,\)"),
        (
            GaussianNB(known_variance=1.0, prior=fam.KnownVarianceNormal(0.0, -30.0, 1.0, 0.0)),
            r"`prior\.kappa` has -30 .* positive",
        ),
        (
            GaussianDA(covariance="identity", prior=fam.KnownVarianceNormal(0.0, 1.0, 1.0, np.inf)),
            r"`prior\.log_c` has inf",
        ),
        (
            GaussianNB(variance="pooled", prior=fam.PooledNormalInverseGamma(0.0, 1.0, 1.0, np.nan)),
            r"`prior\.b` has nan \(feature 0\)",
        ),
        (
            MixedNB([("g", GaussianNB(prior=fam.NormalInverseGamma(0.0, 1.0, np.nan, 1.0)), [0, 1])]),
            r"`prior\.a` has nan",
        ),
        (
            GaussianDA(prior=fam.NormalInverseWishart(0.0, 1.0, 4.0, np.array([[1.0, 0.9], [0.1, 1.0]]))),
            r"`prior\.S` has .* symmetric and positive definite",
        ),
        (
            GaussianNB(known_variance=4.0, prior=fam.KnownVarianceNormal(0.0, 1.0, 1.0, 0.0)),
            "`known_variance` has 4 and `prior.variance` 1 .* differ",
        ),
        (GaussianNB(variance="pooled", known_variance=4.0), "`variance` is 'pooled' and `known_variance` is given"),
    ],
)
def test_a_prior_is_checked_as_data_are(nb, words):
    with pytest.raises(ValueError, match=words):
        nb.fit(REALS, LABELS)
    with pytest.raises(ValueError, match=words):
        nb.partial_fit(REALS, LABELS, classes=[0, 1])


def test_equal_known_variances_do_not_contradict_each_other():
    prior = fam.KnownVarianceNormal(0.0, 1.0, np.array([4.0, 9.0]), 0.0)
    nb = GaussianNB(known_variance=[4.0, 9.0], prior=prior).fit(REALS, LABELS)
    verify(nb, REALS, LABELS)


IMPROPER = [
    GaussianNB(prior=fam.NormalInverseGamma(0.0, 0.0, -0.5, 0.0)),
    GaussianNB(variance="pooled", prior=fam.PooledNormalInverseGamma(0.0, 0.0, -1.0, 0.0)),
    GaussianNB(known_variance=2.0, prior=fam.KnownVarianceNormal(0.0, 0.0, 2.0, 0.0)),
    MixedNB([("g", GaussianNB(prior=fam.NormalInverseGamma(0.0, 0.0, -0.5, 0.0)), [0, 1])]),
]


@pytest.mark.parametrize("nb", IMPROPER, ids=repr)
def test_improper_limits_predict_and_have_no_evidence(nb):
    """The reference prior 1/σ² is the limit of proper priors, and so is what it predicts; its evidence is not there."""
    nb = nb.fit(REALS, LABELS)
    assert not hasattr(nb, "log_evidence_")
    with pytest.raises(AttributeError, match=r"no log_evidence_: its prior is improper \((kappa|a) is "):
        _ = nb.log_evidence_
    sound(nb, REALS)
    given = (nb.parts[0][1] if isinstance(nb, MixedNB) else nb).get_params()
    block = nb.posterior_.blocks["x" if not isinstance(nb, MixedNB) else "g"]
    if given["known_variance"] is None:
        n = np.bincount(LABELS)
        if given["variance"] == "class":  # t with n − 1 degrees of freedom, the textbook's
            x = REALS[LABELS == 1]
            assert (2 * block.a[1] == n[1] - 1).all()
            np.testing.assert_allclose(block.b[1] / block.a[1], x.var(0, ddof=1), rtol=1e-12)
        else:
            assert (2 * block.a == n.sum() - 2).all()
    for refused in (lambda: nb.sample(3, source="prior"), lambda: nb.check(REALS, LABELS)):
        with pytest.raises(ValueError, match="`prior` is improper"):
            refused()
    left = nb.loo(REALS, LABELS).log_joint
    for i in (0, 1):
        rest = np.delete(np.arange(len(REALS)), i)
        refit = type(nb)(**nb.get_params(deep=False)).fit(REALS[rest], LABELS[rest])
        np.testing.assert_allclose(left[i], refit.predict_joint_log_proba(REALS[[i]])[0], rtol=1e-12)


def test_too_few_rows_for_an_improper_prior():
    nb = IMPROPER[0]
    few = GaussianNB(prior=nb.prior)
    with pytest.raises(ValueError, match=r"`prior` is improper, .* not a density: the rows leave a at 0 \(class 1"):
        few.fit(REALS[:3], LABELS[:3])
    few.partial_fit(REALS[:3], LABELS[:3], classes=[0, 1])  # more may come
    with pytest.raises(ValueError, match="`prior` is improper"):
        few.predict(REALS)
    few.partial_fit(REALS[3:], LABELS[3:])
    np.testing.assert_allclose(
        few.predict_log_proba(REALS), GaussianNB(prior=nb.prior).fit(REALS, LABELS).predict_log_proba(REALS)
    )
    stuck = np.c_[REALS[:, 0], np.full(7, 0.1)]  # a column that never varies
    with pytest.raises(ValueError, match=r"`prior` is improper, .* the rows leave b at .* feature 1"):
        GaussianNB(prior=nb.prior).fit(stuck, LABELS)
    pair = GaussianNB(prior=nb.prior).fit(REALS[:4], LABELS[:4])
    with pytest.raises(ValueError, match=r"without row 0 of `X` the posterior is not a density"):
        pair.loo(REALS[:4], LABELS[:4])


FAMILIES = [getattr(fam, name) for name in fam.__all__ if hasattr(getattr(fam, name), "fields_")]


@pytest.mark.parametrize("family", [*FAMILIES, DirichletClasses, FixedClasses], ids=lambda family: family.__name__)
def test_every_field_of_every_family_declares_its_support(family):
    if family is fam.OneClass:
        pytest.skip("it has the fields of the block inside")
    if not dataclasses.is_dataclass(family):
        pytest.skip("an abstract class")
    assert [field.name for field in dataclasses.fields(family)] == [*family.fields_, *getattr(family, "constants_", ())]
    assert all(declared.axes and declared.support.kind for declared in family.fields_.values())


@dataclasses.dataclass(frozen=True)
class WithConstant(fam.GammaPoisson):
    r: Any = dataclasses.field(default=1.0, metadata={"static": True})
    constants_ = fam.declare(r=fam.COUNT)


@pytest.mark.parametrize("r", [0, -1.0, np.nan, np.inf, "two", [1.0, 2.0]])
def test_a_constant_of_a_family_is_checked(r):
    nb = FamilyNB(WithConstant(1.0, 1.0, r=r))
    with pytest.raises(ValueError, match=r"`family\.r` "):
        nb.fit([[1.0], [2.0]], [0, 1])


def test_a_declaration_serves_other_families_too():
    sizes = {"class": 2, "feature": 3, "level": 4}
    block = checked_prior("prior", fam.DirichletCategorical(np.full((1, 1, 4), 0.5)), sizes)
    assert block.alpha.shape == (2, 3, 4)
    with pytest.raises(ValueError, match=r"`prior\.alpha` has -1 \(class 0, feature 0, level 2\)"):
        checked_prior("prior", fam.DirichletCategorical(np.array([[[1.0, 1.0, -1.0, 1.0]]])), sizes)


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_draws", [0, -1, 2.5, "many", None])
def test_the_number_of_draws(n_draws):
    with pytest.raises(ValueError, match=r"`n_draws` is .* whole number, at least 1"):
        inspect.unwrap(GaussianNB.sample_proba)(GaussianNB().fit(REALS, LABELS), REALS, n_draws)


@pytest.mark.parametrize("n_samples", [-1, 2.5, "many", None])
def test_the_number_of_samples(n_samples):
    with pytest.raises(ValueError, match=r"`n_samples` is .* whole number"):
        inspect.unwrap(GaussianNB.sample)(GaussianNB().fit(REALS, LABELS), n_samples)


@pytest.mark.parametrize("nb", [MixedNB(), CategoricalNB(), GaussianNB()], ids=repr)
def test_a_query_without_rows(nb):
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame({"a": REALS[:, 0]}).lazy()
    with pytest.raises(ValueError, match=r"`X` is a LazyFrame.* pass X\.collect\(\)"):
        nb.fit(lazy, LABELS)


@pytest.mark.parametrize("cell", [{"a": 1}, [1, 2], {3}, np.ones(2)], ids=["dict", "list", "set", "array"])
def test_cells_that_are_no_levels(cell):
    table = np.empty((4, 2), object)
    table[:, 0] = ["a", "b", "a", "b"]
    for i in range(4):
        table[i, 1] = cell
    with pytest.raises(ValueError, match=r"`X` has cells of type \w+ in column 1, .* Make them strings"):
        CategoricalNB().fit(table, [0, 1, 0, 1])
    nb = CategoricalNB().fit([["a", "x"], ["b", "y"]], [0, 1])
    with pytest.raises(ValueError, match=r"`X` has cells of type \w+ in column 1, .* Make them strings"):
        nb.predict(table)


@pytest.mark.parametrize("sizes", [(2, 4, [3, 4]), ("2", 4), (2.5, 2), (2, None)], ids=str)
def test_counting_parameters(sizes):
    with pytest.raises(
        ValueError, match=r"`n_(features|classes|levels)` is .* whole number, at least .* each feature alone"
    ):
        inspect.unwrap(count_parameters)(*sizes)


@pytest.mark.parametrize(
    ("nb", "words"),
    [
        (BernoulliNB(binarize=math.nan), "`binarize` is nan"),
        (BernoulliNB(binarize="a"), "`binarize` is 'a'"),
        (BernoulliNB(fit_prior="no"), "`fit_prior` is 'no'"),
        (MultinomialNB(force_alpha="no"), "`force_alpha` is 'no'"),
        (ComplementNB(norm="no"), "`norm` is 'no'"),
        (CategoricalNB(min_categories=999999999999999), "`min_categories` is 999999999999999.* from 0 to"),
        (CategoricalNB(min_categories=-1), "`min_categories` is -1"),
        (GaussianNB(var_smoothing=math.inf), "`var_smoothing` is inf.* from 0 to"),
        (GaussianNB(var_smoothing="a"), "`var_smoothing` is 'a'"),
        (GaussianNB(priors=[1e-320, 1.0]), "`priors` is .* each 0 or at least"),
        (MultinomialNB(alpha=1e308), "`alpha` is 1e.308; it needs to be positive, from 1e-50 to 1e.50"),
        (PoissonNB(alpha=10**400), "`alpha` has a number too large for a float"),
        (PoissonNB(class_alpha=1e-320), "`class_alpha` is 1e-320; it needs to be positive, from 1e-50"),
    ],
    ids=repr,
)
def test_other_settings_out_of_range(nb, words):
    with pytest.raises(ValueError, match=words):
        nb.fit(COUNTS.astype(int), LABELS)


def test_what_is_no_number_is_named() -> None:
    for level in ("0.9", None, [0.5, 0.9], True):
        with pytest.raises(ValueError, match=r"`level` is .*; it needs to lie between 0 and 1"):
            supports.check_level(level)
    for count in ("a", None, 100.0, [2]):
        with pytest.raises(ValueError, match=r"`n_draws` is .*; it needs to be a whole number, at least 2"):
            supports.check_least(2, n_draws=count)
    supports.check_level(np.float32(0.5))
    supports.check_least(2, n_draws=np.int64(2))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in (BernoulliNB, CategoricalNB, MultinomialNB, ComplementNB, PoissonNB, GeometricNB, ExponentialNB)
        for name in ("alpha", "beta", "class_alpha")
        if name in kind().get_params()
    ],
)
def test_a_distribution_is_no_hyperparameter(kind, name):
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), [0, 1, 0, 1]
    with pytest.raises(ValueError, match=rf"`{name}` is a distribution, Gamma; .*`bayesnb.fit_prior`.*NumPyro"):
        kind(**{name: dist.Gamma(2.0, 1.0)}).fit(X, y)
