"""Normals with a conjugate mean: what the pages with a known, pooled, full or tied scale have in common.

    μ_c | scale ~ Normal(m_c, scale / κ_c)
    x_i | y_i = c ~ Normal(μ_c, scale)

The scale is a variance for each feature or a covariance of all features. It is given, or learnt for each class, or
learnt for all classes together (`shares_parameters`). A page says what its scale adds to the normaliser A of its
density: `gain(s)` is the rise of log A by n rows whose squares about m add up to G, s.n = n and s.ss = G. Rows that
are equal to x, with the net weights v_k in the classes k, have

    n = Σ_k v_k,   G = Σ_k h_k δ_k δ_kᵀ,   δ_k = x − m_k,   h_k = v_k κ_k / (κ_k + v_k)

Negative weights remove rows. So v = −w leaves out a row that has the weights w, and v = e_c predicts it in class c.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics import wishart
from ..numerics.arrays import Array, Float, Int, Real, Table, Tables, Theta, Value, Weights, is_sparse
from ..numerics.random import Key, normal, split
from ..numerics.special import LOG_2PI, namespace, polygamma
from ..sums.rows import slices, sum_over_cells_of
from ..sums.statistics import Scatter, Stats, along
from .base import AbstractConjugate, as_jax, n_rows
from .conjugate import CellStatistics

_CELLS = 1 << 17  # of tables at a time: 1 MiB, which stay in a core's cache


def by_slices(f: Callable[..., Array], m: Array, *tables: Any) -> Array:
    """f of tables by row, on the host some rows at a time, so that its temporary arrays stay in a core's cache.

    Parameters
    ----------
    f : dense tables (k, …) of some rows → a result (k, …), put together row by row
    m : (c, d) centres, whose number of cells says how large temporary arrays are
    tables : (n, …) each; sparse ones are made dense, slice by slice
    """
    if namespace(m, *tables) is not np:  # JAX: all rows at once
        return f(*tables)

    # of the sparse formats CSR is the one from which rows can be cut quickly
    sliceable = [table.tocsr() if is_sparse(table) else table for table in tables]
    n = sliceable[0].shape[0]
    results = []
    for part in slices(n, m.size, _CELLS):  # slices of k rows, so that arrays (k, c, d) have about `_CELLS` cells
        chunk = [table[part] for table in sliceable]
        dense = [rows.toarray() if is_sparse(rows) else rows for rows in chunk]
        results.append(f(*dense))
    return np.concatenate(results)


def cumulant(order: int, psi: Value, e: Value, t: Value | float, kappa: Value, d: int = 1) -> tuple[Array, ...]:
    """Mean, variance or third cumulant over θ of a normal log density log p(x | θ), as a polynomial in s = (x − m)².

    θ are the mean and the scale of the density, and m is the posterior centre of the mean. Returned are the
    coefficients of 1, s, s² and s³, as far as they are not 0. With ψ, ψ₁, ψ₂ for the argument `psi` of the orders 1, 2
    and 3 the polynomials are

        1   mean       ½(ψ − d/κ) − ½e s
        2   variance   ¼ψ₁ + ½d/κ² + (e/κ − t) s + ½et s²
        3   third      ⅛ψ₂ − d/κ³ + 3(t/κ − e/κ²) s + 3(½t² − et/κ) s² − et² s³

    Where they come from: log E p(x | θ)^u is the cumulant generating function of log p(x | θ), so that the cumulants
    are 1, 2 and 6 times its coefficients of u, u² and u³. But for a multiple of u it is gain(u, hs) − ½d log(1 + u/κ),
    with h = uκ/(κ + u). Here gain(n, G) is by how much n rows with squares G about m raise the log normaliser of the
    density of the scale.

    Parameters
    ----------
    order : 1 for the mean, 2 for the variance, 3 for the third cumulant
    psi : the cumulant of this order of log |Λ/2π|, Λ the inverse of the scale: a polygamma function
    e, t : E[δᵀΛδ] = es and Cov(log |Λ|, δᵀΛδ) = 2ts
    kappa : pseudo-rows behind the mean m
    d : number of features of x, if s is the squared distance of a whole row
    """
    if order == 1:
        return 0.5 * (psi - d / kappa), -0.5 * e
    if order == 2:
        return 0.25 * psi + 0.5 * d / kappa**2, e / kappa - t, 0.5 * e * t
    return (
        psi / 8 - d / kappa**3,
        3 * (t - e / kappa) / kappa,  # of s
        3 * t * (0.5 * t - e / kappa),  # of s²
        -e * t * t,  # of s³
    )


def cumulant_of_cells(order: int, psi: Value, e: Value, t: Value, kappa: Array, x: Any, m: Array) -> Any:
    """The cumulant over θ of the log density of rows with independent features: the sum of those of cells, (n, c).

    Cumulants of independent variables add. That of a cell is a polynomial in s = (x − m)², of which `cumulant` gives
    the coefficients.

    Parameters
    ----------
    order, psi, e, t, kappa : as in `cumulant`, (c, d) or broadcast to it
    x : (n, d) rows; NaN is a missing cell, which is left out
    m : (c, d) centres
    """

    def cumulant_of_cell(x: Array, _: Any, m: Array, *coefficients: Array) -> Any:
        """The polynomial in s = (x − m)² with these coefficients; a weight of the cell is not used."""
        s = (x - m) ** 2
        *lower, polynomial = coefficients  # from the highest power down, by Horner's rule: (c₂ s + c₁) s + c₀
        for coefficient in reversed(lower):
            polynomial = polynomial * s + coefficient
        return polynomial

    coefficients = cumulant(order, psi, e, t, kappa)  # of 1, s, s², …
    full_coefficients = [namespace(m, f).broadcast_to(f, m.shape) for f in coefficients]  # (c, d) each

    # the sum over the observed cells of each row; the function is called with cells, weight 1, and these (c, d) arrays
    return sum_over_cells_of(cumulant_of_cell, x, 1.0, (m, *full_coefficients))


def linear_of_normals(mu: Array, variance: Array) -> tuple[Array, Array] | None:
    """Weights μ/σ² (d, c) and intercept −½ Σ_j μ²/σ² (c,) of log p(x | θ), up to terms that all classes share.

    None where σ² (c, d) differs between classes: log p is then quadratic in x.
    """
    # log Normal(x; μ, σ²) = x μ/σ² − ½ μ²/σ² − ½ x²/σ² − ½ log 2πσ²; the last two are the same in all classes
    if (variance != variance[:1]).any():
        return None
    return (mu / variance).T, -0.5 * (mu * mu / variance).sum(-1)


def student_marginals(m: Array, kappa: Array, a: Array, b: Array) -> dict[str, Any]:
    """Marginals of mean and variance under a normal–inverse-gamma density, as frozen `scipy.stats` objects.

    The density is σ² ~ InverseGamma(a, b), μ | σ² ~ Normal(m, σ²/κ). With σ² integrated out, μ is a Student t with 2a
    degrees of freedom, location m and squared scale b/(aκ); both marginals have the shape of m.

    Parameters
    ----------
    m, kappa : centre of the mean, and pseudo-rows behind it
    a, b : shape and scale of the variance
    """
    from scipy import stats

    df = np.broadcast_to(2 * a, m.shape)
    scale = np.sqrt(b / (a * kappa))
    return {"mu": stats.t(df, m, scale), "variance": stats.invgamma(a, scale=b)}


class AbstractNormals(AbstractConjugate[Stats]):
    """Normal density of means, given the scale of the rows.

    Fields
    ------
    m : (c, d)                centre of the mean, unit of the feature
    kappa : (c, d) or (c,)    pseudo-rows behind the mean, positive
    """

    m: Float[Array, "c d"]
    kappa: Array

    scale_: ClassVar[tuple[str, ...]]
    """Names of the fields that describe the scale."""

    def added(self, s: Any, *fields: Any) -> tuple[Any, ...]:
        """The fields of the scale after statistics s: s.n rows whose squares about m add up to s.ss = G."""
        raise NotImplementedError

    def gain(self, s: Any, *fields: Any) -> Any:
        """log A(λ + s) − log A(λ) of the scale."""
        raise NotImplementedError

    def _scale(self) -> list[Array]:
        """The fields of the scale, in the order of `scale_`."""
        return [getattr(self, name) for name in self.scale_]

    def _together(self, value: Array) -> Array:
        """The sum over the classes that share a scale: (c, …) → (…); unchanged where each class has its own scale."""
        return value.sum(0) if self.shares_parameters else value

    def _scale_statistics(self, stats: Any) -> CellStatistics:
        """What data add to the scale: n rows, and their squares about m, ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ.

        These squares are those within the rows, ss about their mean x̄, and those of the distance of x̄ to the prior
        centre m, which counts as κ pseudo-rows. With features by themselves these are squares of single features. Both
        are sums over the classes that share a scale (a variance or a covariance).
        """
        # (x̄ − m)(x̄ − m)ᵀ as `ss` has squares: of single features, (c, d), or of all pairs of features, (c, d, d)
        delta = stats.mean - self.m  # (c, d)
        is_of_single_features = stats.ss.ndim == delta.ndim
        square = delta * delta if is_of_single_features else delta[:, :, None] * delta[:, None, :]

        # `along` gives weights (c,) the axes of the squares; `_together` sums over the classes that share a scale
        weight = self.kappa * stats.n / (self.kappa + stats.n)  # κn/(κ+n), (c,) or (c, d)
        growth = stats.ss + along(weight, square) * square
        return CellStatistics(self._together(stats.n), ss=self._together(growth))

    def update(self, stats: Any) -> Self:
        """The posterior: κ + n, m + n(x̄ − m)/(κ + n), and the scale by `added`."""
        # The fields of the scale, such as the shape a and scale b of an inverse gamma, by name and in the shapes that
        # they had. `_scale_statistics` is the weight of the rows and their squares about the prior centre m; `added`
        # puts them on the fields, such as a + n/2 and b + squares/2.
        fields = self._scale()
        updated = self.added(self._scale_statistics(stats), *fields)
        scale = {name: new.reshape(old.shape) for name, new, old in zip(self.scale_, updated, fields, strict=True)}

        # the mean moves by the share n/(κ + n) towards x̄; `along` gives (c,) the axes of m, (c, 1)
        share = along(stats.n / (self.kappa + stats.n), self.m)
        return replace(self, m=self.m + share * (stats.mean - self.m), kappa=self.kappa + stats.n, **scale)

    def log_marginal(self, stats: Any) -> Float[Array, " *pieces"]:
        """The log evidence: gain − ½d log(1 + n/κ) − ½nd log 2π, summed over the classes that share a scale.

        n rows with the mean x̄ under x ~ Normal(μ, scale), μ ~ Normal(m, scale/κ). The first term is of the scale: by
        how much the rows raise the log normaliser of its density. The second is of the mean, whose pseudo-rows grow
        from κ to κ + n. The third (`log_h`) are the constants of the normal densities of the rows.
        """
        # κ is (c,) if whole rows have a covariance, and (c, d) if each feature has its own variance
        features_of_piece = self.m.size / self.kappa.size  # d for whole rows, 1 for single features
        xp = namespace(self.kappa, stats.n)  # numpy, or jax.numpy for JAX arrays
        means = 0.5 * features_of_piece * xp.log1p(stats.n / self.kappa)  # ½d log(1 + n/κ)
        gain = self.gain(self._scale_statistics(stats), *self._scale())
        return gain + self._together(stats.log_h - means)  # `_together` sums over the classes that share a scale

    def mle(self, stats: Any) -> Theta:
        """Maximum likelihood estimates of mean and scale: x̄ of each class, and Σ ss / Σ n.

        The scale is a variance of each feature or a covariance of all features. The sums are over the classes that
        share it: all classes, or only the class itself. Where there are no rows the estimates are the means of this
        density. `stats.n` is (c, d) if cells can be missing feature by feature, and (c,) if rows are complete.

        Parameters
        ----------
        stats : weight n, mean x̄ (c, d), and squares ss about it of single features or of whole rows, of each class

        Returns
        -------
        Estimates by name: "mu" (c, d), and "variance" or "covariance" unless it is known.
        """
        xp = namespace(stats.n)  # numpy, or jax.numpy for JAX arrays
        mean = self.mean()  # of the parameters under this density, by name

        # The mean of the rows, x̄. `along(n, array)` adds axes of length 1 behind n until it has as many as the array:
        # (c,) becomes (c, 1), so that it broadcasts over the features; n (c, d) stays as it is
        has_rows = along(stats.n, stats.mean) > 0
        theta = {"mu": xp.where(has_rows, stats.mean, mean["mu"])}

        # The squares ss and the weight n behind each scale. `_together` sums over the classes, the first axis, if they
        # share a scale, and changes nothing otherwise. ss is (c, d) or (d,) for variances, (c, d, d) or (1, d, d) for
        # covariances; `along` again gives n the axes of ss.
        ss = self._together(stats.ss)
        n = along(self._together(stats.n), ss)
        has_rows_of_scale = n > 0
        for name in self.parameters[1:]:  # "variance" or "covariance", or nothing if it is known
            estimate = ss / xp.where(has_rows_of_scale, n, 1)
            if name == "variance":  # equal cells have 0: raised to a number by which one may divide
                estimate = xp.maximum(estimate, xp.finfo(ss.dtype).tiny)

            # no rows: the mean of this density. A shared covariance is (d, d) there, and (1, d, d) here, so that the
            # result gets the shape of the mean
            value = xp.where(has_rows_of_scale, estimate, mean[name])
            theta[name] = value.reshape(mean[name].shape)
        return theta


class AbstractNormalRows(AbstractNormals[Scatter]):
    """A covariance of all features, Σ ~ InverseWishart(ν, S); rows are complete. Murphy (2007), §9.

    Fields
    ------
    nu : (c,)        degrees of freedom: pseudo-rows behind the covariance, above d − 1; (1,) where classes share it
    S : (c, d, d)    scale of the covariance, positive definite; (d, d) where classes share it
    """

    kappa: Float[Array, " c"]
    nu: Float[Array, " k"]
    S: Float[Array, "*c d d"]

    scale_ = "nu", "S"
    parameters = ("mu", "covariance")
    missing_value = None

    def _together(self, value: Array) -> Array:
        """The sum over the classes that share a scale, as an axis of length 1."""
        return value.sum(0, keepdims=True) if self.shares_parameters else value

    def size_of(self, field: str) -> Array:
        """Of S_jj what column j has alone, of the mean its standard deviation; of other fields their own size.

        S may be nearly singular, as columns may nearly be multiples of each other. So the size of S_jj are the squares
        of column j about its regression on all other columns, 1/(S⁻¹)_jj. The size of m_j is the standard deviation
        that these squares give. Entries of S off the diagonal are not compared.
        """
        if field not in ("m", "S"):
            return super().size_of(field)
        squares_given_others = 1 / np.linalg.inv(self.S).diagonal(axis1=-2, axis2=-1)  # (c, d), or (d,) if shared
        if field == "m":
            return np.sqrt(squares_given_others / self.nu[:, None])  # (c, d), or (1, d)
        is_diagonal = np.eye(self.S.shape[-1], dtype=bool)
        return np.where(is_diagonal, squares_given_others[..., None], np.inf)  # of the shape of S

    def _matrices(self, sigma: Array) -> Array:
        """Covariances with an axis of classes: (…, c, d, d), or (…, 1, d, d) of one (…, d, d) that they share."""
        return sigma[..., None, :, :] if self.shares_parameters else sigma

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same model in NumPyro: Σ ~ InverseWishart(ν, S), μ_c ~ Normal(m_c, Σ/κ_c), x_i ~ Normal(μ_y, Σ).

        Each class has its own Σ, or all classes share one (`shares_parameters`).

        Parameters
        ----------
        x : complete rows; None draws them
        y : (n,) class of each row; labels that NumPyro enumerates have other axes
        """
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        # one covariance of each class; or a single one, which stands in no plate (NumPyro's loop over the classes)
        c = len(self.m)
        nu = self.nu.reshape(self.S.shape[:-2])  # ν in the shape (c,), or () where the classes share S (d, d)
        with nullcontext() if self.shares_parameters else numpyro.plate("class", c, dim=-1):
            sigma = numpyro.sample("covariance", dist.InverseWishart(nu, self.S))

        # the mean of each class
        with numpyro.plate("class", c, dim=-1):
            mu = numpyro.sample("mu", dist.MultivariateNormal(self.m, sigma / self.kappa[:, None, None]))

        # the rows, under the mean and the covariance of their classes. Σ is factorised once for each class, and not for
        # each row
        root = jnp.linalg.cholesky(sigma)
        root_of_row = root if self.shares_parameters else root[y]
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            rows = dist.MultivariateNormal(mu[y], scale_tril=root_of_row)
            numpyro.sample("x", rows, obs=None if x is None else as_jax(x))

    def added(self, s: Any, nu: Array, S: Array) -> tuple[Array, Array]:
        """The inverse Wishart fields after data: ν + n, S + G; G = ss + κn/(κ+n) (x̄ − m)(x̄ − m)ᵀ, given as s.ss.

        Murphy (2007), (251)–(255).
        """
        return nu + s.n, S + s.ss

    def gain(self, s: Any, nu: Array, S: Array) -> Float[Array, " k"]:
        """log Γ_d((ν+n)/2)/Γ_d(ν/2) − ½(ν+n) log |S+G|/|S| − ½n log |S/2|. Murphy (2007), (266)."""
        return wishart.log_gain(nu, s.n, self._matrices(S), s.ss)

    def suffstats(self, x: Real[Array, "n d"], r: Weights) -> Scatter:
        """The weight, mean and centred cross products of the rows."""
        return Scatter.of(x, r)

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """Σ_JJ ~ InverseWishart(ν − (d − k), S_JJ): the marginal of k of the features."""
        fewer = self.m.shape[1] - len(columns)  # d − k

        # of S (…, d, d) the rows of these features, then their columns
        return replace(self, m=self.m[:, columns], nu=self.nu - fewer, S=self.S[..., columns, :][..., columns])

    def log_normalizer(self) -> Float[Array, " k"]:
        """½νd log 2 + log Γ_d(ν/2) − ½ν log |S| + ½d Σ_c log(2π/κ_c): of the inverse Wishart and of the normals.

        Γ_d is the multivariate gamma function. The power of |Σ| of the normals is part of the density, not of this
        constant. The sum over c is over the classes that share the covariance.
        """
        d = self.m.shape[1]
        level = d * np.log(2) - wishart.log_det(self._matrices(self.S))
        means = 0.5 * d * self._together(LOG_2PI - namespace(self.kappa).log(self.kappa))
        return 0.5 * self.nu * level + wishart.log_multigamma(self.nu, d) + means

    def log_prob(self, theta: Theta) -> Float[Array, "*s k"]:
        """Log density of the parameters: Σ_c log Normal(μ_c; m_c, Σ/κ_c) + log InverseWishart(Σ; ν, S).

        With δ_c = μ_c − m_c the logarithms are, but for constants,

            log InverseWishart    −½ (ν + d + 1) log |Σ| − ½ tr Σ⁻¹S
            log Normal            −½ log |Σ| − ½ κ_c δ_cᵀΣ⁻¹δ_c,   in which δᵀΣ⁻¹δ = tr Σ⁻¹δδᵀ

        So together they are −½ (power · log |Σ| + tr Σ⁻¹(S + Σ_c κ_c δ_c δ_cᵀ)), where the power counts ν + d + 1 and
        one for each normal. The sum over c is over the classes that share Σ: all of them, or one.

        Parameters
        ----------
        theta : "mu" (…, c, d), and "covariance" (…, c, d, d), or (…, d, d) where classes share it
        """
        # `_matrices` gives a shared covariance (d, d) an axis of classes, (1, d, d)
        sigma = self._matrices(theta["covariance"])  # (…, c or 1, d, d)
        scale = self._matrices(self.S)  # (c or 1, d, d)
        delta = theta["mu"] - self.m  # (…, c, d)
        xp = namespace(sigma, delta)  # numpy, or jax.numpy for JAX arrays

        # κ δδᵀ of each class, (…, c, d, d), summed over the classes that share Σ
        square = self.kappa[:, None, None] * delta[..., :, None] * delta[..., None, :]
        if self.shares_parameters:
            square = square.sum(-3, keepdims=True)

        trace = xp.trace(xp.linalg.solve(sigma, scale + square), axis1=-2, axis2=-1)  # tr Σ⁻¹(S + Σ_c κ_c δ_c δ_cᵀ)
        return -0.5 * (self._power() * wishart.log_det(sigma) + trace) - self.log_normalizer()

    def _log_t(self, square: Array, kappa: Array, nu: Array, level: Array) -> Array:
        """The log predictive density of one more row, a multivariate Student t, from its distance to the centre.

        A predictive density is the evidence of one row, so it is by how much the row raises the log normaliser of the
        inverse Wishart density (its gain), less ½d log(1 + 1/κ) and ½d log 2π. The row adds 1 to ν and the matrix
        G = κ/(κ+1) δδᵀ to S, so |S + G|/|S| = 1 + κ/(κ+1) δᵀS⁻¹δ by the determinant lemma.

        Parameters
        ----------
        square : δᵀS⁻¹δ, δ = x − m, of each row and class
        kappa, nu : pseudo-rows behind the mean, and degrees of freedom
        level : log |S|
        """
        xp = namespace(square, kappa)  # numpy, or jax.numpy for JAX arrays
        d = self.m.shape[1]
        gain = wishart.log_gain_of_row(nu, level, xp.log1p(kappa / (kappa + 1) * square), d)
        return gain - 0.5 * d * (LOG_2PI + xp.log1p(1 / kappa))

    def _root(self) -> tuple[Float[Array, "k d d"], Float[Array, " k"]]:
        """L⁻¹ and log |S| of the scale S = LLᵀ, with L lower triangular: (k, d, d) and (k,), k = c or 1 if shared.

        δᵀS⁻¹δ is then the squared length of L⁻¹δ, and log |S| twice the sum of the logarithms of L's diagonal.
        """
        xp = namespace(self.S)  # numpy, or jax.numpy for JAX arrays
        factor = xp.linalg.cholesky(self._matrices(self.S))  # L, (k, d, d)
        return xp.linalg.inv(factor), 2 * xp.log(xp.diagonal(factor, 0, -2, -1)).sum(-1)

    def log_predictive(self, x: Real[Array, "n d"]) -> Table:
        """log t(x; ν−d+1, m, S(κ+1)/(κ(ν−d+1))), multivariate, (n, c): of rows x (n, d). Murphy (2007), (258)."""
        root, level = self._root()  # L⁻¹ and log |S|, S = LLᵀ

        # `squares` is |L⁻¹(x − m)|² = (x − m)ᵀS⁻¹(x − m) of each row and class, (n, c)
        return self._log_t(wishart.squares(x, self.m, root), self.kappa, self.nu, level)

    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"]) -> Tables:
        """log Normal(x; μ, Σ) = −½ [d log 2π + log |Σ| + (x − μ)ᵀΣ⁻¹(x − μ)], (…, n, c) for draws (…) of θ."""
        sigma = self._matrices(theta["covariance"])  # (…, c, d, d), or (…, 1, d, d) where classes share it
        linalg = namespace(sigma).linalg  # of numpy, or of jax.numpy for JAX arrays
        level = self.m.shape[1] * LOG_2PI + wishart.log_det(sigma)  # (…, c), to which an axis of rows is added below
        root = linalg.inv(linalg.cholesky(sigma))  # squared lengths of root (x − μ) are the quadratic forms
        return -0.5 * (level[..., None, :] + wishart.squares(x, theta["mu"], root))

    def _cumulant(self, order: int, x: Array) -> Table:
        """The cumulant of an order, 1 to 3, of the log density log p(x_i | θ_c) of rows under the posterior, (n, c).

        θ_c are mean and covariance of class c, and the cumulants are mean, variance and third central moment over
        their posterior. They are polynomials in τ = (x − m)ᵀS⁻¹(x − m); `cumulant` gives the coefficients.
        """
        d = self.m.shape[1]
        root, level = self._root()  # L⁻¹ and log |S|, S = LLᵀ
        tau = wishart.squares(x, self.m, root)  # δᵀS⁻¹δ, (n, c)

        # The cumulant of log |Σ⁻¹/2π|, with Σ⁻¹ of a Wishart distribution. |Σ⁻¹| |S| is a product of independent χ²
        # variables with ν, ν − 1, …, ν − d + 1 degrees of freedom (Bartlett), and log χ²_ν has the cumulants
        # polygamma(order − 1, ν/2), and log 2 more in its mean. The logarithm of the product is their sum.
        psi = polygamma(order - 1, wishart.half_degrees(self.nu, d)).sum(-1)

        # the mean has constants too: d log 2 of the χ² variables, −log |S| and −d log 2π, together −log |S| − d log π
        psi = psi - (level + d * wishart.LOG_PI if order == 1 else 0)
        coefficients = cumulant(order, psi, self.nu, 1.0, self.kappa, d)  # of 1, τ, τ², …
        return sum(coefficient * tau**power for power, coefficient in enumerate(coefficients))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Draws of the parameters, with `shape` in front: Σ = BBᵀ by Bartlett's decomposition, then μ = m + Bz/√κ."""
        first, second = split(key, 2)  # independent streams of random numbers
        b = wishart.inverse_wishart_factors(first, self.nu, self._matrices(self.S), shape)  # B, (…, c or 1, d, d)
        sigma = b @ b.swapaxes(-1, -2)  # BBᵀ; a shared covariance loses its axis of classes below
        z = normal(second, (*shape, *self.m.shape)) / namespace(b).sqrt(self.kappa)[:, None]  # z/√κ, (…, c, d)
        mu = self.m + (b @ z[..., None])[..., 0]  # m + Bz/√κ, a matrix times a vector for each class
        return {"mu": mu, "covariance": sigma.reshape(*shape, *self.S.shape)}

    def _power(self) -> Array:
        """The power of |Σ|^−½ in the density: ν + d + 1, and one more for the mean of each class that has this Σ."""
        d = self.m.shape[1]
        classes_of_covariance = len(self.m) / len(self.nu)  # all, or one
        return self.nu + d + 1 + classes_of_covariance

    def mode(self) -> Theta:
        """m and S/(ν + d + 2), or S/(ν + d + C + 1) where C classes share Σ: the joint mode of mean and covariance.

        At μ = m the density is |Σ|^(−power/2) exp(−½ tr Σ⁻¹S), which is largest at Σ = S/power.
        """
        return {"mu": self.m, "covariance": self.S / self._power().reshape((*self.S.shape[:-2], 1, 1))}

    def mean(self) -> Theta:
        """m and S/(ν − d − 1); the covariance has a mean only for ν > d + 1, otherwise this is S/(ν + d + 1)."""
        xp = namespace(self.nu)  # numpy, or jax.numpy for JAX arrays
        d = self.m.shape[1]
        divisor = xp.where(self.nu > d + 1, self.nu - d - 1, self.nu + d + 1)
        return {"mu": self.m, "covariance": self.S / divisor.reshape((*self.S.shape[:-2], 1, 1))}

    def marginals(self) -> dict[str, Any]:
        """Marginal distributions of the parameters, with the methods of frozen `scipy.stats` objects.

        Student t(ν−d+1, m, S_jj/(κ(ν−d+1))) for each component of `mu`, InverseWishart(ν, S) for `covariance`.
        """
        from scipy import stats

        df = np.broadcast_to((self.nu - self.m.shape[1] + 1)[:, None], self.m.shape)  # (c, d), as the scale
        scale = np.sqrt(np.diagonal(self.S, axis1=-2, axis2=-1) / (self.kappa[:, None] * df))

        # ν in the shape (c,), or () where the classes share S (d, d)
        sigma = wishart.InverseWishartMarginal(np.reshape(self.nu, self.S.shape[:-2]), self.S)
        return {"mu": stats.t(df, self.m, scale), "covariance": sigma}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """New rows of classes y, (n, d), from the predictive Student t: x_i = m + Lz √((1 + 1/κ)/χ²), S = LLᵀ.

        z is standard normal, and χ² has ν − d + 1 degrees of freedom. The factor 1 + 1/κ is the variance of the row,
        and that of its mean.

        Parameters
        ----------
        rng : NumPy's generator
        y : (n,) class of each new row
        """
        # Lz of each row, class by class
        c, d = self.m.shape
        z = rng.standard_normal((len(y), d))
        factors = np.broadcast_to(np.linalg.cholesky(self._matrices(self.S)), (c, d, d))  # L of each class
        for k, factor in enumerate(factors):
            z[y == k] = z[y == k] @ factor.T

        # the factor √((1 + 1/κ)/χ²) of each row
        df = np.broadcast_to(self.nu - d + 1, c)[y]  # (n,); ν has one value for all classes if they share Σ
        scale = np.sqrt((1 + 1 / self.kappa[y]) / rng.chisquare(df))  # (n,)
        return self.m[y] + z * scale[:, None]

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given parameters: x_i = μ + Lz, with Σ = LLᵀ and z standard normal.

        Parameters
        ----------
        rng : NumPy's generator
        theta : s draws, "mu" (s, c, d), and "covariance" (s, c, d, d), or (s, d, d) where classes share it
        y : class of each new row
        """
        mu = theta["mu"]
        root = np.linalg.cholesky(self._matrices(theta["covariance"]))  # (s, c, d, d), or (s, 1, d, d) if it is shared
        x = np.empty((len(mu), len(y), mu.shape[-1]))
        for k in np.unique(y):
            rows = np.flatnonzero(y == k)
            z = rng.standard_normal((len(mu), len(rows), mu.shape[-1]))
            # rows are along the second axis, so Lz is z @ Lᵀ; a shared L is at position 0 of the axis of classes
            x[:, rows] = mu[:, [k]] + z @ root[:, k if root.shape[1] > 1 else 0].swapaxes(-1, -2)
        return x
