"""The posterior of the map: no mode is missed, its draws are right, and the order of the classes changes nothing.

    python -m tests.calibration.test_modes 200 20

measures the same on more tables of the law: the modes of 200 against a slow optimiser, the predictions of 20 against
weighted draws. Here are samples of them.
"""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln, log_softmax, logsumexp, softmax

import bayesnb
from bayesnb import CalibratedClassifierLOO, GaussianNB, PosteriorCalibrator
from bayesnb.calibration import fitting
from bayesnb.calibration.map import MAX_FULL_CLASSES, WIDTHS

LAWS = ("power", "separable", "heavy", "matrix")


def table_of_law(seed):
    """Log probabilities z and labels y of 30 to 300 rows: y by a power, certain, with noise, by a matrix.

    Every fifth table is rounded to two digits. Its zeros are 1e-9, as in the calibrator.
    """
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
    if seed % 5 == 4:
        z = np.log(np.maximum(np.round(np.exp(z), 2), 1e-9))
    return log_softmax(np.maximum(z, np.log(1e-9)), axis=1), y


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
        table = np.zeros((*theta.shape[:-1], (len(self.rho) + 1) * len(self.rho)))
        table[..., self.free] = theta[..., 1:-1]
        return table.reshape(*theta.shape[:-1], -1, len(self.rho))

    def proba(self, theta, z):
        """p' and q of rows, for θ (p,) or (s, p)."""
        v = self.entries(theta)
        power = np.exp(theta[..., 0])[..., None, None]
        q = softmax(power * z + self.scale * z @ v[..., :-1, :] + v[..., -1:, :], axis=-1)
        eps = expit(theta[..., -1])[..., None, None]
        return (1 - eps) * q + eps * self.rho, q

    def falls(self, thetas):
        """Whether the log odds of a class fall as its own log probability rises, for θ (s, p)."""
        falls = np.zeros(len(thetas), bool)
        matrix = self.entries(thetas)[..., :-1, :]
        for c in range(len(self.rho)):
            rise = np.exp(thetas[:, 0])[:, None] + self.scale * (matrix[:, c, c, None] - matrix[:, c])
            falls |= (np.delete(rise, c, axis=1) < 0).any(1)
        return falls

    def increasing_values(self, thetas):
        """−log p(y, θ) under the prior of maps that do not fall."""
        rng = np.random.default_rng(1)
        falls = self.falls(self.mean + self.width * rng.normal(size=(20_000, len(self.mean))))
        return np.where(self.falls(thetas), np.inf, self.values(thetas) + np.log(1 - falls.mean()))

    def values(self, thetas):
        """−log p(y, θ) of many θ, with the prior of all maps."""
        parts = [self.proba(part, self.z)[0] for part in np.array_split(thetas, 10)]
        of_label = np.concatenate([np.maximum((p * self.y).sum(-1), 1e-300) for p in parts])
        off = (thetas - self.mean) / self.width
        return np.log(self.width).sum() + 0.5 * (off**2).sum(-1) - np.log(of_label).sum(-1)

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


def tables(quick, slow):
    """Seeds of tables, and those that only the slow tests take."""
    return [*quick, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow)]


def height_of_modes(z, y):
    """The maps, and the lowest mode of each, before modes of little evidence are dropped."""
    heights = []
    search = fitting.posterior_modes

    def watched(calibration, rows, starts):
        modes = search(calibration, rows, starts)
        heights.append(min(mode.height for mode in modes))
        return modes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "posterior_modes", watched)
        return fitting.fit_maps(z, y, np.ones(len(y))), heights


def worst_of_modes(seed):
    """Nats by which the lowest mode of a map is above the end of BFGS, and by which the mode shown is less heavy."""
    z, y = table_of_law(seed)
    maps, heights = height_of_modes(z, y)
    above, lighter = [], []
    for fitted, height in zip(maps[1:], heights, strict=True):
        posterior = Posterior(z, y, fitted.model, fitted.scale, fitted.rho)
        shown = np.concatenate([fitted.mode[:1], fitted.matrix(fitted.mode).ravel()[posterior.free], fitted.mode[-1:]])
        with np.errstate(over="ignore", invalid="ignore"):
            end = posterior.best(np.random.default_rng(seed), 4)
        above.append(height - end.fun)
        lighter.append(evidence(posterior, end.x) - evidence(posterior, shown))
    return max(above), max(lighter)


# of these the starts at the prior's ε alone miss a mode in 22, 26, 50, 106, 110 and 179; 14 and 74 are rounded, and few
# maps that are drawn for 43 rise
@pytest.mark.parametrize("seed", tables([14, 43], [2, 3, 11, 22, 26, 50, 74, 106, 110, 179]))
def test_no_mode_is_missed_and_the_heaviest_is_shown(seed):
    above, lighter = worst_of_modes(seed)
    assert above < 1e-3
    assert lighter < 0.05


class Weighted:
    """The posterior of one map by weighted draws of Student distributions, in five rounds, fitted to the one before."""

    def __init__(self, posterior, modes, sample, rng, n_draws=4000):
        components = [(mode, np.linalg.cholesky(np.linalg.inv(hessian_of(posterior, mode)))) for mode in modes]
        spread = np.cov(sample.T) + 0.03 * np.diag(posterior.width**2)
        components.append((sample.mean(0), np.linalg.cholesky(spread)))
        theta = np.zeros((0, len(posterior.mean)))
        of_rounds = []
        for _ in range(5):
            of_rounds.append(components)
            chosen = rng.integers(len(components), size=n_draws)
            normals = rng.normal(size=(n_draws, theta.shape[1])) * np.sqrt(5 / rng.chisquare(5, n_draws))[:, None]
            mode, root = (np.array([component[k] for component in components])[chosen] for k in (0, 1))
            theta = np.vstack([theta, mode + np.einsum("sij,sj->si", root, normals)])
            log_q = [logsumexp([student(theta, *one) for one in k], axis=0) - np.log(len(k)) for k in of_rounds]
            log_p = -posterior.increasing_values(theta) - theta.shape[1] / 2 * np.log(2 * np.pi)
            log_w = log_p - logsumexp(log_q, axis=0) + np.log(len(of_rounds))
            covariance = np.atleast_2d(np.cov(theta.T, aweights=softmax(0.7 * log_w)))
            components = [*of_rounds[0], (softmax(0.7 * log_w) @ theta, np.linalg.cholesky(covariance))]
        self.posterior, self.theta, self.share = posterior, theta, softmax(log_w)
        self.evidence = logsumexp(log_w) - np.log(len(log_w))

    def mean(self, new):
        parts = zip(np.array_split(self.share, 10), np.array_split(self.theta, 10), strict=True)
        return sum(np.tensordot(share, self.posterior.proba(theta, new)[0], 1) for share, theta in parts)


def importance_weighted(z, y, maps, new, rng):
    """The mean of p' over the posterior, and how many of the weighted draws count."""
    weighted = []
    for fitted in maps[1:]:
        posterior = Posterior(z, y, fitted.model, fitted.scale, fitted.rho)
        modes = [posterior.best(rng, 2).x]
        drawn = fitted if len(fitted.draws) > 1 else maps[1]  # whose maps all rise
        sample = [np.r_[d[:1], drawn.matrix(d).ravel()[posterior.free], d[-1:]] for d in drawn.draws]
        for start in sample[:: max(1, len(sample) // 4)]:
            modes.append(minimize(posterior, start, jac=True, method="L-BFGS-B").x)
        weighted.append(Weighted(posterior, modes, np.array(sample), rng))
    same = np.log(softmax(z, axis=1)[np.arange(len(y)), y]).sum()
    share = softmax(np.array([same, *(one.evidence for one in weighted)]) + np.log([0.4, 0.2, 0.2, 0.2]))
    mean = share[0] * softmax(new, axis=1) + sum(s * one.mean(new) for s, one in zip(share[1:], weighted, strict=True))
    return mean, min(1 / (one.share**2).sum() / s for one, s in zip(weighted, share[1:], strict=True))


def hessian_of(posterior, mode, h=1e-4):
    ends = [posterior(mode + h * e)[1] - posterior(mode - h * e)[1] for e in np.eye(len(mode))]
    hessian = np.array(ends) / (2 * h)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    return (vectors * np.maximum(values, 0.1)) @ vectors.T


def evidence(posterior, mode):
    return -posterior(mode)[0] - 0.5 * np.linalg.slogdet(hessian_of(posterior, mode))[1]


def student(thetas, mode, root, df=5):
    """Log density of a multivariate t distribution."""
    d = len(mode)
    off = np.linalg.solve(root, (thetas - mode).T)
    constant = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi) - np.log(np.diag(root)).sum()
    return constant - (df + d) / 2 * np.log1p((off**2).sum(0) / df)


def distance_from_weighted_draws(seed):
    """Mean distance of probabilities of new rows, of tables of two and three classes; and how many draws count."""
    rng = np.random.default_rng(seed)
    z, y = next(table for k in range(seed * 50, 10**6) if (table := table_of_law(4 * k + seed % 4))[0].shape[1] <= 3)
    calibrator = PosteriorCalibrator().fit(np.exp(z), y)
    new = log_softmax(3 * rng.normal(size=(50, z.shape[1])), axis=1)
    expected, n_effective = importance_weighted(z, y, calibrator.maps_, new, rng)
    return abs(calibrator.predict_proba(np.exp(new)) - expected).mean(), n_effective


# Laplace's approximation alone is off by .01 to .04 in 3, 7, 14, 15, 16, 18 and 19
@pytest.mark.parametrize("seed", tables([3], [7, 14, 15, 16, 18, 19]))
def test_predictions_are_those_of_weighted_draws(seed):
    distance, n_effective = distance_from_weighted_draws(seed)
    assert n_effective > 500  # so the expected probabilities are off by .003 or so
    assert distance < 0.01


@pytest.mark.parametrize("c", tables([3], [2, 4]))
@pytest.mark.slow
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


def test_a_file_of_before_loads(tmp_path):
    """Files of 0.2 do not have the class probabilities of the fit: their maps have them."""
    rng = np.random.default_rng(0)
    calibrator = PosteriorCalibrator().fit(rng.normal(size=60), rng.integers(0, 2, 60))
    del calibrator.class_prior_, calibrator.takes_table_
    calibrator.save(tmp_path / "model")
    again = bayesnb.load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_prior_, calibrator.maps_[0].rho)
    np.testing.assert_array_equal(again.predict_proba([1.0, 2.0]), calibrator.predict_proba([1.0, 2.0]))


if __name__ == "__main__":
    n_modes, n_predictions = (int(number) for number in sys.argv[1:])
    distances = []
    for seed in range(n_predictions):
        distances.append(distance_from_weighted_draws(seed))
        print(
            "predictions of table", seed, "distance {:.4f}, effective draws {:.0f}".format(*distances[-1]), flush=True
        )
    worst = []
    for seed in range(n_modes):
        worst.append(worst_of_modes(seed))
        print(f"modes of table {seed}:", "above {:.5f}, lighter {:.5f}".format(*worst[-1]))
    print(sum(above > 1e-3 for above, _ in worst), "of", n_modes, "tables miss a mode by more than 1e-3 nats")
    print(sum(lighter > 0.05 for _, lighter in worst), "of", n_modes, "show a mode lighter by more than .05 nats")
    print(sum(distance > 0.01 for distance, _ in distances), "of", n_predictions, "are beyond .01")
