"""The posterior of the map: no mode is missed, its draws are right, and the order of the classes changes nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax

import bayesnb
from bayesnb import CalibratedClassifierLOO, GaussianNB, PosteriorCalibrator
from bayesnb.calibration import fitting
from bayesnb.calibration.map import MAX_FULL_CLASSES, WIDTHS

LAWS = ("power", "separable", "heavy", "matrix")


def table_of_law(seed):
    """Log probabilities z and labels y of 30 to 300 rows: y by a power, certain, with noise, by a matrix."""
    rng = np.random.default_rng(seed)
    law = LAWS[seed % len(LAWS)]
    c = int(rng.choice([2, 2, 3, 3, 4, 6, 9, 12]))
    n = int(rng.integers(30, 60 + 20 * c))
    z = log_softmax(rng.choice([1, 3, 8]) * rng.normal(size=(n, c)), axis=1)
    if law == "power":
        p = softmax(np.exp(rng.normal()) * z + 0.5 * rng.normal(size=c), axis=1)
    elif law == "separable":
        p = np.eye(c)[z.argmax(1)]
    elif law == "heavy":
        eps = rng.uniform(0.05, 0.95)
        p = (1 - eps) * softmax(np.exp(rng.normal(0.5)) * z, axis=1) + eps / c
    else:
        matrix = np.eye(c) + 0.5 * rng.normal(size=(c, c))
        p = softmax(z @ matrix + 0.5 * rng.normal(size=c), axis=1)
    y = (rng.random(n)[:, None] > np.cumsum(p, 1)[:, :-1]).sum(1)
    return z, y


class Posterior:
    """−log p(y, θ) of one map written out with its gradient, θ = (u, O by rows, b, logit ε) with all entries free."""

    def __init__(self, z, y, model, scale, rho):
        c = z.shape[1]
        t_o, t_x, t_b = WIDTHS[model - 1]
        width = np.full((c + 1, c), t_x if c <= MAX_FULL_CLASSES else 0.0)
        width[range(c), range(c)] = t_o
        width[c] = t_b
        self.free = np.flatnonzero(width.ravel())
        self.width = np.concatenate([[1], width.ravel()[self.free], [2]])
        self.mean = np.append(np.zeros(len(self.free) + 1), -4)
        self.z, self.y, self.scale, self.rho = z, np.eye(c)[y], scale, rho

    def entries(self, theta):
        table = np.zeros((len(self.rho) + 1) * len(self.rho))
        table[self.free] = theta[1:-1]
        return table.reshape(-1, len(self.rho))

    def proba(self, theta, z):
        v = self.entries(theta)
        q = softmax(np.exp(theta[0]) * z + self.scale * z @ v[:-1] + v[-1], axis=1)
        return (1 - expit(theta[-1])) * q + expit(theta[-1]) * self.rho, q

    def __call__(self, theta):
        p, q = self.proba(theta, self.z)
        of_label = np.maximum((p * self.y).sum(1), 1e-300)
        eps = expit(theta[-1])
        r = (1 - eps) * (q * self.y).sum(1) / of_label
        slope = r[:, None] * (self.y - q)
        of_u = -(slope * np.exp(theta[0]) * self.z).sum()
        of_entries = -np.vstack([self.scale * self.z.T @ slope, slope.sum(0)]).ravel()[self.free]
        gradient = np.concatenate([[of_u], of_entries, [(r - 1 + eps).sum()]])
        off = (theta - self.mean) / self.width
        value = np.log(self.width).sum() + 0.5 * off @ off - np.log(of_label).sum()
        return value, gradient + off / self.width

    def best(self, rng, n_starts):
        """The least value that BFGS reaches from random points of the prior and from a grid of u and ε."""
        starts = [self.mean + self.width * rng.normal(size=len(self.mean)) for _ in range(n_starts)]
        for u in (-2, 0, 2):
            for logit in (-4, 1):
                starts.append(self.mean * 0)
                starts[-1][[0, -1]] = u, logit
        options = {"maxiter": 5000, "maxcor": 30, "ftol": 1e-14, "gtol": 1e-7}
        ends = [minimize(self, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
        return min((end for end in ends if np.isfinite(end.fun)), key=lambda end: end.fun)


def tables(seeds, quick, missed):
    """Seeds of tables: those that are not quick are slow, and those that are missed today must fail until they hold."""
    cases = []
    for seed in seeds:
        marks = [] if seed in quick else [pytest.mark.slow]
        if seed in missed:
            marks.append(pytest.mark.xfail(reason="not found yet: see the issue on right numbers", strict=True))
        cases.append(pytest.param(seed, marks=marks))
    return cases


SEEDS = tables(range(52), range(4), missed=(22, 26, 50))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_mode_is_missed(seed, monkeypatch):
    """The lowest mode that is reached from all starts, before modes of little evidence are dropped."""
    z, y = table_of_law(seed)
    reached = []
    search = fitting.posterior_modes

    def watched(calibration, rows, starts):
        modes = search(calibration, rows, starts)
        reached.append((calibration.scale, min(mode.height for mode in modes)))
        return modes

    monkeypatch.setattr(fitting, "posterior_modes", watched)
    fitting.fit_maps(z, y, np.ones(len(y)))
    rho = (np.bincount(y, minlength=z.shape[1]) + 1) / (len(y) + z.shape[1])
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore", invalid="ignore"):
        for model, (scale, height) in enumerate(reached, 1):
            assert height < Posterior(z, y, model, scale, rho).best(rng, 4).fun + 1e-3


def importance_weighted(z, y, maps, new, rng, n_draws=4000):
    """The mean of p' over the posterior: draws of wide Student distributions about the modes, weighted."""
    c = z.shape[1]
    logs, tables = [], []
    for fitted in maps[1:]:
        posterior = Posterior(z, y, fitted.model, fitted.scale, fitted.rho)
        modes = [posterior.best(rng, 2).x]
        for draw in fitted.draws[:: max(1, len(fitted.draws) // 4)]:
            start = np.concatenate([draw[:1], fitted.matrix(draw).ravel()[posterior.free], draw[-1:]])
            modes.append(minimize(posterior, start, jac=True, method="L-BFGS-B").x)
        roots = [np.linalg.cholesky(np.linalg.inv(hessian_of(posterior, mode))) for mode in modes]
        k = rng.integers(len(modes), size=n_draws)
        d = len(posterior.mean)
        stretch = np.sqrt(5 / rng.chisquare(5, n_draws))
        normals = rng.normal(size=(n_draws, d)) * stretch[:, None]
        thetas = np.array([modes[i] + roots[i] @ s for i, s in zip(k, normals, strict=True)])
        density = np.stack([student(thetas, mode, root) for mode, root in zip(modes, roots, strict=True)])
        log_q = logsumexp(density, axis=0) - np.log(len(modes))
        log_p = -np.array([posterior(theta)[0] for theta in thetas]) - d / 2 * np.log(2 * np.pi)
        logs.append(log_p - log_q)
        tables.append([posterior.proba(theta, new)[0] for theta in thetas])
    evidence = [logsumexp(log_w) - np.log(n_draws) for log_w in logs]
    same = np.log(softmax(z, axis=1)[np.arange(len(y)), y]).sum()
    share = softmax(np.array([same, *evidence]) + np.log([0.4, 0.2, 0.2, 0.2]))
    means = [np.tensordot(softmax(log_w), np.array(p), 1) for log_w, p in zip(logs, tables, strict=True)]
    assert c == means[0].shape[1]
    return share[0] * softmax(new, axis=1) + sum(s * mean for s, mean in zip(share[1:], means, strict=True))


def hessian_of(posterior, mode, h=1e-4):
    ends = [posterior(mode + h * e)[1] - posterior(mode - h * e)[1] for e in np.eye(len(mode))]
    hessian = np.array(ends) / (2 * h)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    return (vectors * np.maximum(values, 0.1)) @ vectors.T


def student(thetas, mode, root, df=5):
    """Log density of a multivariate t distribution, up to a constant of d and df that is added here."""
    from scipy.special import gammaln

    d = len(mode)
    off = np.linalg.solve(root, (thetas - mode).T)
    constant = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi) - np.log(np.diag(root)).sum()
    return constant - (df + d) / 2 * np.log1p((off**2).sum(0) / df)


@pytest.mark.parametrize("seed", tables(range(20), range(2), missed=(3, 7, 14, 15, 16, 18, 19)))
def test_predictions_are_those_of_weighted_draws(seed):
    """Mean distance of probabilities of new rows, of tables of two and three classes."""
    rng = np.random.default_rng(seed)
    z, y = next(table for k in range(seed * 50, 10**6) if (table := table_of_law(4 * k + seed % 4))[0].shape[1] <= 3)
    calibrator = PosteriorCalibrator().fit(np.exp(z), y)
    new = log_softmax(3 * rng.normal(size=(50, z.shape[1])), axis=1)
    expected = importance_weighted(z, y, calibrator.maps_, new, rng)
    assert abs(calibrator.predict_proba(np.exp(new)) - expected).mean() < 0.01


@pytest.mark.parametrize("c", [2, 3, 5])
def test_relabelled_classes_get_the_same(c):
    rng = np.random.default_rng(c)
    p = softmax(2 * rng.normal(size=(120, c)), axis=1)
    y = (rng.random(120)[:, None] > np.cumsum(softmax(0.4 * np.log(p), axis=1), 1)[:, :-1]).sum(1)
    order = np.roll(np.arange(c), 1)
    rank = np.argsort(order)
    first = PosteriorCalibrator().fit(p, y)
    other = PosteriorCalibrator().fit(p[:, order], rank[y])
    np.testing.assert_allclose(other.predict_proba(p[:, order]), first.predict_proba(p)[:, order], atol=1e-9)
    names = {f"[{k}]": f"[{rank[k]}]" for k in range(c)}
    names |= {f"[{d}, {k}]": f"[{rank[d]}, {rank[k]}]" for d in range(c) for k in range(c)}
    renamed = [name[0] + names[name[1:]] if "[" in name else name for name in first.summary().index]
    np.testing.assert_allclose(other.summary().loc[renamed], first.summary(), atol=1e-9)
    X = np.log(p)
    left_out = CalibratedClassifierLOO(GaussianNB()).fit(X, y)
    relabelled = CalibratedClassifierLOO(GaussianNB()).fit(X, rank[y])
    np.testing.assert_allclose(relabelled.predict_proba(X), left_out.predict_proba(X)[:, order], atol=1e-9)


@pytest.mark.parametrize("seed", tables([*range(8), *range(11, 24)], (2,), missed=()))
def test_a_mode_is_the_heaviest(seed):
    """No end of BFGS has a larger evidence by Laplace than `mode` of its map."""
    z, y = table_of_law(seed)
    z = log_softmax(np.maximum(z, np.log(1e-9)), axis=1)  # as the calibrator reads probabilities
    for fitted in PosteriorCalibrator().fit(np.exp(z), y).maps_[1:]:
        posterior = Posterior(z, y, fitted.model, fitted.scale, fitted.rho)
        mode = np.concatenate([fitted.mode[:1], fitted.matrix(fitted.mode).ravel()[posterior.free], fitted.mode[-1:]])
        with np.errstate(over="ignore", invalid="ignore"):
            other = posterior.best(np.random.default_rng(seed), 4).x
        assert evidence(posterior, mode) > evidence(posterior, other) - 0.05


def evidence(posterior, mode):
    return -posterior(mode)[0] - 0.5 * np.linalg.slogdet(hessian_of(posterior, mode))[1]


def test_a_file_of_before_loads(tmp_path):
    """Files of 0.2 do not have the class probabilities of the fit: their maps have them."""
    rng = np.random.default_rng(0)
    calibrator = PosteriorCalibrator().fit(rng.normal(size=60), rng.integers(0, 2, 60))
    del calibrator.class_prior_, calibrator.takes_table_
    calibrator.save(tmp_path / "model")
    again = bayesnb.load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_prior_, calibrator.maps_[0].rho)
    np.testing.assert_array_equal(again.predict_proba([1.0, 2.0]), calibrator.predict_proba([1.0, 2.0]))
