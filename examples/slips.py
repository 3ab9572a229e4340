"""Where the sources slip: each printed formula beside the corrected one, on data, and what the slip costs.

Run it with `python examples/slips.py`. The page "The sources, and where they slip" of the documentation explains every
line.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import betaln, digamma
from scipy.stats import dirichlet
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

import bayesnb
from bayesnb.analysis.counting import count_parameters


class Slip(NamedTuple):
    """One line of the table."""

    source: str
    what: str
    measure: str
    printed: float
    corrected: float


def log_loss(joint: np.ndarray, y: np.ndarray) -> float:
    """Mean of −log p(y | x) from log p(x, y), nats a row; infinite where the true class is impossible."""
    with np.errstate(invalid="ignore"):
        log_p = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return float(-np.nan_to_num(log_p[np.arange(len(y)), y], nan=-np.inf).mean())


def accuracy(decided: np.ndarray, y: np.ndarray) -> float:
    """Share of rows decided rightly."""
    return float(np.mean(decided == y))


def votes() -> tuple[np.ndarray, np.ndarray]:
    """The House votes without missing cells, 232 rows: yes is 1; a republican is 1."""
    data = bayesnb.datasets.load("votes")
    there = data.X.notna().all(axis=1).to_numpy()
    return (data.X[there] == "y").to_numpy().astype(float), (data.y[there] == "republican").astype(int)


def cancer() -> tuple[np.ndarray, ...]:
    """Thirty measurements of tumours, in units of their standard deviation; half of the rows to train."""
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X / X.std(0), y, test_size=0.5, random_state=0, stratify=y)


def two_gaussians(spread: float = 1.0, n: int = 100_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes in the plane, p(y = 1) = .8, means (0, 0) and (2, 0), unit covariance times `spread`² in class 1."""
    rng = np.random.default_rng(0)
    y, mu = (rng.random(n) < 0.8).astype(int), np.array([[0.0, 0.0], [2.0, 0.0]])
    return mu[y] + rng.normal(size=(n, 2)) * np.where(y, spread, 1.0)[:, None], y, mu


# --- Guyon (2005), CLOP ---


def clop_weight() -> list[Slip]:
    """w = ½(μ₁ − μ₂)/σ² where (μ₁ − μ₂)/σ² is right; the intercept is right in print."""
    X, Z, y, z = cancer()
    nb = bayesnb.GaussianNB(variance="pooled", estimate="mle").fit(X, y)
    w, b = nb.coef_[0], nb.intercept_[0]
    found = []
    for share in (0.5, 1.0):
        odds = share * Z @ w + b
        found.append((accuracy(odds > 0, z), float(np.mean(np.logaddexp(0, np.where(z, -odds, odds))))))
    return [
        Slip("CLOP", "Gaussian weight halved", "accuracy, breast cancer", found[0][0], found[1][0]),
        Slip("CLOP", "Gaussian weight halved", "log loss, breast cancer", found[0][1], found[1][1]),
    ]


def clop_rule() -> list[Slip]:
    """Rule (1) compares P(−1 | x) with itself, which is never larger; it should be compared with P(1 | x)."""
    X, y = votes()
    p = bayesnb.BernoulliNB(alpha="clop").fit(X, y).predict_proba(X)
    return [
        Slip(
            "CLOP",
            "rule (1): P(−1∣x) on both sides",
            "accuracy, votes",
            *(accuracy(*c) for c in ((p[:, 0] > p[:, 0], y), (p[:, 1] > p[:, 0], y))),
        )
    ]


def clop_frequency() -> list[Slip]:
    """Log P ≅ f where P ≅ f is meant: exp f is no probability."""
    X, y = votes()
    f = np.stack([X[y == c].mean(0) for c in (0, 1)])
    share = np.log(np.bincount(y) / len(y))
    as_printed = X @ f.T + (1 - X) @ (1 - f).T + share
    with np.errstate(divide="ignore", invalid="ignore"):
        right = np.nan_to_num(X @ np.log(np.clip(f, 1e-9, 1)).T + (1 - X) @ np.log(np.clip(1 - f, 1e-9, 1)).T) + share
    return [
        Slip("CLOP", "log P ≅ f", "accuracy, votes", accuracy(as_printed.argmax(1), y), accuracy(right.argmax(1), y)),
        Slip("CLOP", "log P ≅ f", "P(0) + P(1) at f = ½", 2 * np.exp(0.5), 1.0),
    ]


def clop_pooled() -> list[Slip]:
    """σ² as the square of the averaged standard deviations, or as the count-weighted average of the variances."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 900), rng.normal(0, 5, 100)])  # classes of 900 and 100 rows
    sd = x[:900].std(), x[900:].std()
    return [
        Slip(
            "CLOP",
            "σ “averaged” over the classes",
            "σ² of 900 rows at 1, 100 at 25",
            np.mean(sd) ** 2,
            (900 * sd[0] ** 2 + 100 * sd[1] ** 2) / 1000,
        )
    ]


# --- Flemming's lecture ---


def flemming_events() -> list[Slip]:
    """p = (ν + 1)/(n + m) with n the number of e-mails of the class; it has to be that of its words."""
    texts = bayesnb.datasets.load_spam()
    X, Z, y, z = train_test_split(texts.X, texts.y == "spam", test_size=0.5, random_state=0)
    nu = np.stack([np.asarray(X[y == c].sum(0)).ravel() for c in (False, True)])
    rows = np.array([np.sum(y == c) for c in (False, True)])
    found = []
    for n in (rows, nu.sum(1)):
        p = (nu + 1) / (n[:, None] + nu.shape[1])
        found.append((accuracy((Z @ np.log(p).T + np.log(rows / rows.sum())).argmax(1), z), float(p.sum(1).max())))
    return [
        Slip("Flemming", "(ν + 1)/(n + m), n the samples", "accuracy, spam", found[0][0], found[1][0]),
        Slip(
            "Flemming", "(ν + 1)/(n + m), n the samples", "Σ_m p_m of the class farther off", found[0][1], found[1][1]
        ),
    ]


def flemming_independence() -> list[Slip]:
    """With features mutually independent p(x) would be Π p(x_j); then Σ_c p(c) Π p(x_j | c)/p(x) is not one."""
    X, y = votes()
    nb = bayesnb.BernoulliNB(estimate="mean").fit(X, y)
    alone = bayesnb.BernoulliNB(estimate="mean").fit(X, np.zeros(len(y), int))
    evidence = np.logaddexp.reduce(nb.predict_joint_log_proba(X), axis=1)
    total = np.exp(evidence - alone.predict_joint_log_proba(X)[:, 0])
    return [
        Slip("Flemming", "features mutually independent", "median of Σ_c p(c∣x), votes", float(np.median(total)), 1.0)
    ]


# --- notes on the Bayes classifier ---


def notes_dirichlet() -> list[Slip]:
    """∏ q_m^(m−1) where ∏ q_m^(α_m − 1) is meant: the prior mean of three levels with α = (1, 1, 1)."""
    grid = np.random.default_rng(0).dirichlet(np.ones(3), 200_000)
    weight = np.prod(grid ** np.arange(3), axis=1)
    return [
        Slip(
            "Bayes notes",
            "Dirichlet ∏ q_m^(m−1)",
            "prior mean of q₁, three levels",
            float(weight @ grid[:, 0] / weight.sum()),
            float(dirichlet.mean(np.ones(3))[0]),
        )
    ]


def notes_gamma() -> list[Slip]:
    """Γ(n) = n! where (n − 1)! is right: the integral of q(1 − q)² is Γ(2)Γ(3)/Γ(5)."""
    return [
        Slip("Bayes notes", "Γ(n) = n!", "∫ q(1 − q)² dq, truly 1/12", 2 * 6 / 120, float(np.exp(betaln(2, 3)))),
    ]


def notes_parameters() -> list[Slip]:
    """O(D) parameters for C classes; each class has its own."""
    d, c = 10_000, 20
    return [
        Slip(
            "Bayes notes",
            "O(D) parameters for C classes",
            "20 classes, 10,000 words",
            d,
            count_parameters(d, c),
        )
    ]


# --- week-8 notes ---


def week8_pseudo_rows() -> list[Slip]:
    """A row of ones for each class leaves p = 1 possible, and a zero there makes the class impossible."""
    X, y = load_digits(return_X_y=True)
    X, Z, y, z = train_test_split((X > 0).astype(float), y, test_size=0.5, random_state=0)
    ones, n = np.stack([X[y == c].sum(0) for c in range(10)]), np.bincount(y)[:, None]
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for p in ((ones + 1) / (n + 1), (ones + 1) / (n + 2)):
            table = np.where(Z[:, None] > 0, np.log(p), np.log1p(-p)).sum(2) + np.log(n[:, 0] / n.sum())
            found.append(float(np.mean(np.isneginf(table[np.arange(len(z)), z]))))
    return [Slip("week 8", "smoothing by rows of ones only", "digits whose class gets 0", *found)]


def week8_density() -> list[Slip]:
    """exp(−(x − μ)ᵀΣ⁻¹(x − μ)) without ½ and without the determinant."""
    X, Z, y, z = cancer()
    X, Z = X[:, :5], Z[:, :5]
    nb = bayesnb.GaussianDA(estimate="mle").fit(X, y)
    distance, log_det = [], []
    for c in (0, 1):
        r = Z - nb.means_[c]
        distance.append(np.einsum("ij,jk,ik->i", r, np.linalg.inv(nb.covariance_[c]), r))
        log_det.append(np.linalg.slogdet(nb.covariance_[c])[1])
    d, log_pi = np.stack(distance, 1), np.log(np.bincount(y) / len(y))
    as_printed, right = log_pi - d, log_pi - d / 2 - np.array(log_det) / 2
    return [
        Slip(
            "week 8",
            "density without ½ and det Σ",
            "accuracy, breast cancer",
            accuracy(as_printed.argmax(1), z),
            accuracy(right.argmax(1), z),
        ),
        Slip(
            "week 8",
            "density without ½ and det Σ",
            "log loss, breast cancer",
            log_loss(as_printed, z),
            log_loss(right, z),
        ),
    ]


def week8_prior_in_the_sum() -> list[Slip]:
    """The log prior stands inside the sum over features, and so counts d times."""
    X, Z, y, z = cancer()
    nb = bayesnb.GaussianNB().fit(X, y)
    joint = nb.predict_joint_log_proba(Z)
    as_printed = joint + 29 * nb.class_log_prior_
    return [
        Slip(
            "week 8",
            "log prior in the sum over features",
            "log loss, breast cancer",
            log_loss(as_printed, z),
            log_loss(joint, z),
        )
    ]


def week8_bisector() -> list[Slip]:
    """Σ = I: the boundary is the perpendicular bisector of the means only for equally probable classes."""
    X, y, mu = two_gaussians()
    middle = mu.mean(0)
    odds = X @ (mu[1] - mu[0]) - middle @ (mu[1] - mu[0])
    return [
        Slip(
            "week 8",
            "boundary is the bisector of the means",
            "accuracy, p = .8",
            accuracy(odds > 0, y),
            accuracy(odds + np.log(4) > 0, y),
        )
    ]


def week8_linear() -> list[Slip]:
    """(μ₁ − μ₀)ᵀΣ⁻¹x + μ₀ᵀΣ⁻¹μ₀ − μ₁ᵀΣ⁻¹μ₁ + log (1 − p)/p ≥ 0 for class 1."""
    X, y, mu = two_gaussians()
    slope, constant = X @ (mu[1] - mu[0]), mu[0] @ mu[0] - mu[1] @ mu[1]
    return [
        Slip(
            "week 8",
            "linear form",
            "accuracy, p = .8",
            accuracy(slope + constant - np.log(4) >= 0, y),
            accuracy(slope + constant / 2 + np.log(4) >= 0, y),
        )
    ]


def week8_quadratic() -> list[Slip]:
    """The signs of xᵀ(Σ₁⁻¹ − Σ₀⁻¹)x − 2(…)x and of the constants and the prior do not go together."""
    X, y, mu = two_gaussians(spread=0.3)
    v = np.array([1.0, 0.09])
    square, cross = (X**2).sum(1) * (1 / v[1] - 1 / v[0]), X @ (mu[1] / v[1] - mu[0] / v[0])
    constant = mu[0] @ mu[0] / v[0] - mu[1] @ mu[1] / v[1]
    as_printed = square - 2 * cross + constant - np.log(4)
    right = -square / 2 + cross + constant / 2 - np.log(v[1] / v[0]) + np.log(4)  # two dimensions: ½ log det is log v
    return [Slip("week 8", "quadratic form", "accuracy, p = .8", accuracy(as_printed >= 0, y), accuracy(right >= 0, y))]


def week8_covariance() -> list[Slip]:
    """Σ_i (1[y_i = c] x_i − μ_c)²/n_c: rows of other classes add μ_c² each."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    x = rng.normal(1.0, 1.0, 10_000)
    mu = x[y == 1].mean()
    return [
        Slip(
            "week 8",
            "Σ̂_c, indicator in the residual",
            "variance, truly 1",
            float(((y * x - mu) ** 2).sum() / 5000),
            float(x[y == 1].var()),
        )
    ]


# --- SPSS ---


def spss_denominator() -> list[Slip]:
    """A(J) over N rows and B(J) over the N′ with some predictor of J."""
    X, y = load_breast_cancer(return_X_y=True)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = [bayesnb.SPSSNaiveBayes(denominator=by).fit(X, y).report_ for by in ("N'", "N")]
    return [
        Slip("SPSS", "B(J) divided by N′", "predictors chosen, holes", *(len(one.selected) for one in found)),
        Slip("SPSS", "B(J) divided by N′", "error, breast cancer, holes", *(one.error for one in found)),
    ]


def spss_no_predictor() -> list[Slip]:
    """J = 0: Σ_{k=1}^N N_k log π_k/N has no N_k beyond K. Read as N classes, λ would go to all of them."""
    n_k = np.array([267, 167])
    n = n_k.sum()
    fit = [float(n_k @ np.log((n_k + 1 / n) / (n + k / n)) / n) for k in (n, 2)]
    return [Slip("SPSS", "J = 0: k runs to N", "l̄(0), votes, nats a row", *fit)]


# --- numbers printed elsewhere ---


def saxony() -> list[Slip]:
    """Boys among the first 12 children of 6,115 families: a beta-binomial by maximum likelihood."""
    families = np.array([3, 24, 104, 286, 670, 1033, 1343, 1112, 829, 478, 181, 45, 7])
    k = np.arange(13)

    def gradient(ab: np.ndarray) -> list[float]:
        a, b = ab
        both = digamma(a + b) - digamma(12 + a + b)
        return [families @ (digamma(k + a) - digamma(a) + both), families @ (digamma(12 - k + b) - digamma(b) + both)]

    a, b = root(gradient, [34.0, 31.0], tol=1e-12).x
    return [
        Slip("Wikipedia", "beta-binomial, families of Saxony: α", "maximum likelihood", 34.09558, float(a)),
        Slip("Wikipedia", "beta-binomial, families of Saxony: β", "maximum likelihood", 31.5715, float(b)),
    ]


SLIPS: list[Callable[[], list[Slip]]] = [
    *(clop_weight, clop_rule, clop_frequency, clop_pooled),
    *(flemming_events, flemming_independence),
    *(notes_dirichlet, notes_gamma, notes_parameters),
    *(week8_pseudo_rows, week8_density, week8_prior_in_the_sum, week8_bisector, week8_linear, week8_quadratic),
    *(week8_covariance, spss_denominator, spss_no_predictor, saxony),
]


def table() -> str:
    """All lines."""
    lines = [f"{'source':<12}{'slip':<38}{'measured':<38}{'as printed':>11}{'corrected':>11}"]
    for one in SLIPS:
        for source, what, measure, *values in one():
            digits = 5 if source == "Wikipedia" else 3
            shown = (f"{v:>11,}" if isinstance(v, int) else f"{v:>11.{digits}f}" for v in values)
            lines.append(f"{source:<12}{what:<38}{measure:<38}{''.join(shown)}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
