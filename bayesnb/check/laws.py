"""The laws that the formulas of every family obey, read by `check`, `bayesnb.testing.check_family` and the tests.

Each law is a function of a case, a block and its rows. It yields gaps: what was compared, and how far two independent
sides are apart. The evidence is the measure of the other formulas, and `against_numpyro` ties it to NumPyro:

- log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data), Bayes' identity of one row;
- log p(x | data) = log p(x, data) − log p(data), the ratio of evidences; leave-one-out is the same on the other side;
- log E p(x | θ)^t is the evidence of a row of weight t, and its derivatives in t are the cumulants of log p(x | θ).

All of this is exact. `draws` has the laws of draws, which are statistical.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..families.base import Site, from_sites, to_sites
from ..models.naive_bayes import NaiveBayes, Rows, Statistics, sum_of_pieces
from ..numerics.arrays import Theta
from ..posterior.chains import Twin
from ..sums.statistics import one_hot
from .report import CheckRow

EXACT = 1e-7  # relative; rounding leaves some 1e-12, an error of one part in a million ten times this

_SAMPLE_ROWS = 4  # rows that are predicted and left out
_DEGREE = 32  # of the polynomials that are differentiated
_N_COEFFICIENTS = 25  # of these that are not rounding
_REACH = 0.5  # of these polynomials in weights: ½ to 1½
_STEP = 0.05  # of these polynomials about an estimate
_MAX_COMPARED = 24  # pairs of a row and a class that are compared
_ON_BOUNDARY = 1e-300  # a share that a mode holds at 0; draws of a small concentration have no larger spread
_SCALARS = 8  # parameters of each site that are moved


@dataclass(frozen=True)
class Problem:
    """A prior, dense rows by block and the class of each; the answers of the closed form follow from them.

    `names` are those of the columns where the problem has some of many.
    """

    prior: NaiveBayes
    rows: Rows
    y: np.ndarray
    names: tuple[str, ...] = field(default=(), kw_only=True)

    @cached_property
    def posterior(self) -> NaiveBayes:
        """The prior after the rows."""
        return self.prior.update(self.stats)

    @cached_property
    def evidence(self) -> float:
        """The log evidence in nats."""
        return float(self.prior.log_marginal(self.stats))

    @cached_property
    def stats(self) -> Statistics:
        """Statistics of all rows."""
        return self.prior.suffstats(self.rows, one_hot(self.y, len(self.prior.classes.log_predictive())))

    @property
    def twin(self) -> Twin:
        """The NumPyro model and its data."""
        return Twin(NaiveBayes.model, (self.prior, self.rows, self.y))

    @property
    def size_in_words(self) -> str:
        """How many rows and columns, and which columns: "150 rows; 4 columns"."""
        names = f" ({', '.join(self.names)})" if self.names else ""
        return f"{len(self.y)} rows; {self.width} columns{names}"

    @property
    def width(self) -> int:
        """Features of all blocks together."""
        return sum(x.shape[1] for x in self.rows.values())


@dataclass(frozen=True)
class Labels:
    """The class probabilities as a block, so that the laws of blocks can be tried on them.

    The rows have no columns, and a row of class c has the likelihood π_c. What is not written here is that of
    `classes`.

    Fields
    ------
    classes : prior, or posterior, of the class probabilities
    """

    classes: Any
    evidence_error = None

    def __getattr__(self, name: str) -> Any:
        """The attribute of `classes`, for names that are not found here.

        Special ones stay missing: `copy` asks for them before `classes` is set, and would come back here without end.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.classes, name)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes, and of features: 0."""
        return len(self.classes.log_predictive()), 0

    def sites(self) -> dict[str, Site]:
        """The site of the class probabilities in NumPyro's model: shares that add up to 1."""
        from numpyro.distributions import constraints

        return {"pi": Site(constraints.simplex, ("event",))}

    def suffstats(self, x: np.ndarray, r: Any) -> np.ndarray:
        """The weight of each class, (c,), from the weights r (n, c) of the rows."""
        return r.sum(0)

    def update(self, n: np.ndarray) -> "Labels":
        """The posterior given the weight n of each class, (c,)."""
        return Labels(self.classes.update(n))

    def log_predictive(self, x: np.ndarray) -> np.ndarray:
        """Log class probabilities, (n, c): the same for every one of the n rows."""
        return np.tile(self.classes.log_predictive(), (len(x), 1))

    def log_loo(self, x: np.ndarray, r: Any) -> np.ndarray:
        """Log class probabilities without the label of each row, (n, c), whose weights are r (n, c)."""
        return self.classes.log_loo(r)

    def log_likelihood(self, theta: Theta, x: np.ndarray) -> np.ndarray:
        """log π of given parameters for every row, (…, n, c), with axes of draws in front."""
        return np.repeat(theta["log_pi"][..., None, :], len(x), -2)


@dataclass(frozen=True)
class Case:
    """What a law is tried on: a block, rows for all its classes, and the source of what is random.

    Fields
    ------
    name : name of the block
    prior : the block before the rows
    x : (n, d) rows
    r : (n, c) weights of the rows in each class
    rng : source of random draws
    sample : positions of the rows that are predicted and left out
    """

    name: str
    prior: Any
    x: np.ndarray
    r: np.ndarray
    rng: np.random.Generator
    sample: np.ndarray

    @cached_property
    def posterior(self) -> Any:
        """The block after the rows."""
        return self.after(slice(None))

    def after(self, rows: Any) -> Any:
        """The block after some of the rows: positions, a slice or a mask."""
        return self.prior.update(self.prior.suffstats(self.x[rows], self.r[rows]))

    @property
    def reason_against(self) -> str | None:
        """Why ratios of evidences are no predictives, so that only leave-one-out is compared; None if they are."""
        if self.prior.evidence_error is None:
            return None
        return f"{self.name}: {type(self.prior).__name__} has no evidence of single rows"


def cases(
    problem: Problem, rng: np.random.Generator, max_rows: int = _SAMPLE_ROWS, weights: Any = None
) -> Iterator[Case]:
    """The cases of a problem: one for each block that has rows, and one for the class probabilities if they are learnt.

    A block is the model of some columns: one family, such as the Gaussian, with its parameters for every class. A block
    may be about a single class, and say nothing of rows of the others. Its case has the rows of that class only, and
    the block that is inside of it, which knows of one class: so the weights r have one column.

    Parameters
    ----------
    problem : a prior, rows by block, and the class of each row
    rng : chooses the rows, and is handed on to each case
    max_rows : how many rows of a case are predicted and left out, at most
    weights : (n, c) weights of the rows in each class, in the place of one-hot labels
    """
    c = len(problem.prior.classes.log_predictive())
    r = one_hot(problem.y, c).toarray() if weights is None else weights  # (n, c): class 1 of 3 is the row 0 1 0

    # the class probabilities, as a block whose rows have no columns
    if problem.prior.classes.marginals():  # there are none of probabilities that are fixed
        yield Case(
            name="classes",
            prior=Labels(problem.prior.classes),
            x=np.zeros((len(r), 0)),
            r=r,
            rng=rng,
            sample=choose(rng, len(r), max_rows),
        )

    for name, block in problem.prior.blocks.items():
        x = np.asarray(problem.rows[name], float)
        r_of_block = r
        # a block about one class: keep the rows of that class, and of their weights only the column of that class
        k = block.only_class
        if k is not None:
            is_member = problem.y == k
            x = x[is_member]
            r_of_block = r[is_member][:, [k]]  # (members, 1)
        if len(x):  # a class may have no rows
            yield Case(
                name=name,
                prior=block.unwrapped,  # the block itself, or the block of one class inside of it
                x=x,
                r=r_of_block,
                rng=rng,
                sample=choose(rng, len(x), max_rows),
            )


def choose(rng: np.random.Generator, n: int, max_chosen: int) -> np.ndarray:
    """At most `max_chosen` of the positions 0 … n − 1, at random without replacement, in ascending order."""
    return np.arange(n) if n <= max_chosen else np.sort(rng.choice(n, max_chosen, replace=False))


def kind_of(site: Site) -> str:
    """What values a site has: "simplex", "matrix", "interval" (between 0 and 1), "positive" or "real".

    Parameters
    ----------
    site : a site of NumPyro's model: its support, a constraint of NumPyro, and the names of its axes
    """
    from numpyro.distributions import constraints

    support = site.support
    if isinstance(support, type(constraints.simplex)):
        return "simplex"
    if site.axes[-2:] == ("event", "event"):  # one draw has two axes
        return "matrix"
    if isinstance(support, constraints.interval):
        return "interval"
    return "positive" if isinstance(support, constraints.greater_than) else "real"


# --- differences ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """What was compared, and the largest difference in units of what it should be."""

    what: str
    size: float


def gap(what: str, got: Any, want: Any, scale: Any = None) -> Gap:
    """The largest |got − want| in units of `scale`.

    Parameters
    ----------
    what : name of what is compared
    got, want : numbers or arrays of the same shape; another shape is an infinite gap
    scale : by default |want|, and 1 where that is smaller
    """
    got = np.asarray(got, float)
    want = np.asarray(want, float)
    if got.shape != want.shape:
        return Gap(f"{what} of shape {got.shape} for {want.shape}", np.inf)
    unit = np.maximum(abs(want), 1) if scale is None else np.maximum(scale, 1e-300)  # never 0, as it divides
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is no number, but equal infinite values have no gap
        difference = np.where(got == want, 0, abs(got - want))
        return Gap(what, float(np.max(difference / unit, initial=0)))


def shared(what: str, score: Any, table: Any) -> Gap:
    """Scores against log densities, (…, c) both, which may differ by a term of the row that all classes share.

    So differences from the first class are compared, which have no such term. They are sums of large terms that cancel,
    so their rounding is allowed for in the scale.

    Parameters
    ----------
    what : name of what is compared
    score, table : the scores, and the log densities that they should be up to such a term
    """
    want = table - table[..., :1]
    return gap(what, score - score[..., :1], want, abs(want) + 1e-6 * abs(table))


def _pairs(n: int, c: int) -> list[tuple[int, int]]:
    """Pairs (i, k) of a row and a class to compare: all, or 24 at most, evenly spaced among all of them.

    Of 50 pairs every third is taken, which are 17.

    Parameters
    ----------
    n, c : numbers of rows and classes
    """
    pairs = [(i, k) for k in range(c) for i in range(n)]
    stride = math.ceil(len(pairs) / _MAX_COMPARED)
    return pairs[::stride]


def _evidence(block: Any, row: np.ndarray, k: int) -> float:
    """Log evidence of a row (1, d) in class k: the log probability of the row with the parameters integrated out."""
    weights = np.eye(block.shape[0])[[k]]  # (1, c): weight 1 in class k, 0 in the others
    # `suffstats` are the sufficient statistics of the row; `log_marginal` gives their log evidence as terms to add up,
    # one for each class or other independent piece of the block
    return float(np.sum(block.log_marginal(block.suffstats(row, weights))))


def _derivatives(f: Callable[[np.ndarray], Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """First three derivatives at 0 of a smooth function, (3,), and bounds of their rounding, (3,).

    1. The function is computed at Chebyshev nodes, and replaced by the polynomial through these values,
       f(reach · t) = Σ_j a_j T_j(t) for t from −1 to 1, with T_j the Chebyshev polynomial of degree j.
    2. A derivative of f is Σ_j a_j · (that of T_j).
    3. Of a smooth function the true a_j decrease quickly: the first 25 are used, and the others should be 0. The
       largest of them, ε, is the rounding error of a coefficient.
    4. If all a_j had the error ε, with the worst signs, a derivative would be off by ε Σ_j |that of T_j|. Three times
       that is the bound.

    Parameters
    ----------
    f : takes an array of arguments, and returns an array of as many values
    reach : how far from 0 the arguments are
    """
    coefficients = np.polynomial.chebyshev.chebinterpolate(lambda t: f(reach * t), _DEGREE)  # a_j, (33,)
    used = coefficients[:_N_COEFFICIENTS]
    unused = coefficients[_N_COEFFICIENTS:]

    of_polynomials = _derivatives_of_polynomials(reach)  # of each T_j, (3, 25)
    error_of_coefficient = abs(unused).max()
    rounding = 3 * error_of_coefficient * abs(of_polynomials).sum(1)  # (3,)
    return of_polynomials @ used, rounding


def _derivatives_of_polynomials(reach: float) -> np.ndarray:
    """The first three derivatives at x = 0 of the Chebyshev polynomials T_j(x/reach), j = 0 … 24, as a table (3, 25).

    By the chain rule the k-th derivative in x is that in t = x/reach, divided by reach^k.
    """
    cheb = np.polynomial.chebyshev
    each_alone = np.eye(_N_COEFFICIENTS)  # column j has the coefficients of T_j: a 1 at position j
    derivatives = []
    for order in (1, 2, 3):
        coefficients = cheb.chebder(each_alone, order)  # column j has those of the derivative of T_j
        derivatives.append(cheb.chebval(0.0, coefficients) / reach**order)
    return np.array(derivatives)


# --- the laws of rows -----------------------------------------------------------------------------------------------


def likelihood(case: Case) -> Iterator[Gap]:
    """Law 5: `log_likelihood` must equal log p(x_i | θ) = log p(θ | x_i) − log p(θ) + log p(x_i), Bayes' identity.

    It is compared at three draws of θ, from the prior and from the posterior. Two more results are compared that equal
    the likelihood up to a term of the row that all classes share: `log_score` and `linear_form`.

    Parameters
    ----------
    case : a block, which is the model of some columns by one family, as prior and as posterior; with rows `x` (n, d)
        and their weights `r` (n, c). `sample` are positions of a few rows
    """
    x = case.x[case.sample]
    for block in (case.prior, case.posterior):
        theta = block.sample(case.rng, (3,))
        table = block.log_likelihood(theta, x)  # (3 draws, n, c)
        pairs = _pairs(*table.shape[-2:])  # (i, k): row and class
        want = _log_likelihoods_by_bayes(block, theta, x, pairs)
        yield gap("log_likelihood", [table[..., i, k] for i, k in pairs], want)
        if not isinstance(block, Labels):  # the class probabilities have no columns, and neither of these
            yield shared("log_score of θ", block.log_score(x, theta), table)
            first_draw = {name: value[0] for name, value in theta.items()}
            yield from _linear_form(block, first_draw, x)


def _log_likelihoods_by_bayes(block: Any, theta: Theta, x: np.ndarray, pairs: list[tuple[int, int]]) -> list[Any]:
    """log p(x_i | θ) of a row in class k, without the likelihood: for each pair (i, k) an array of all draws of θ.

    By Bayes' theorem p(θ | x) = p(x | θ) p(θ) / p(x). So log p(x | θ) is what the log density of θ gains by the row,
    plus the log evidence of the row.

    Parameters
    ----------
    theta : draws of the parameters, with one axis of draws in front
    x : (n, d) rows
    """
    log_prior = block.log_prob(theta)  # log p(θ), (draws, independent pieces of the block)
    log_likelihoods = []
    for i, k in pairs:
        weight_in_k = np.eye(block.shape[0])[[k]]  # (1, c): 1 in class k, 0 in the others
        row = block.suffstats(x[i : i + 1], weight_in_k)  # sufficient statistics of row i in class k
        gain = block.update(row).log_prob(theta) - log_prior  # log p(θ | x) − log p(θ), (draws, pieces)
        log_evidence = np.sum(block.log_marginal(row))  # log p(x)
        log_likelihoods.append(sum_of_pieces(block, gain) + log_evidence)
    return log_likelihoods


def _linear_form(block: Any, theta: Theta, x: np.ndarray) -> Iterator[Gap]:
    """The linear form x·w + b of the log likelihood at one θ, if a block has one, against that of complete rows (n, d).

    The two may differ by a term of the row that all classes share.

    Parameters
    ----------
    theta : the parameters of a single draw
    x : (n, d) rows, which may have missing cells
    """
    form = block.linear_form(theta)  # weights and intercept, or None
    complete = x[~np.isnan(x).any(1)]  # a linear form has no place for missing cells
    if form is None or not len(complete):
        return
    weights, intercept = form  # (inputs, c) and (c,)

    # the inputs of the form are the d features; or, where each has several weights, indicators of its levels: the row
    # (2, 0) of two features with three levels has the inputs 0 0 1, 1 0 0
    n_levels = len(weights) // x.shape[1]
    inputs = complete
    if n_levels > 1:
        is_level = complete[..., None] == np.arange(n_levels)  # (n, d, levels)
        inputs = is_level.reshape(len(complete), -1)
    yield shared("linear_form", inputs @ weights + intercept, block.log_likelihood(theta, complete))


def predictive(case: Case) -> Iterator[Gap]:
    """Law 6: predictive density and evidence must agree, by the chain rule of probability, in three comparisons.

    - log p(x_i | y = k, data), `log_predictive`, is the log evidence of row i alone under the posterior
    - the log evidence of all rows is the difference of log normalisers of posterior and prior, plus log h of the rows
    - log p(all rows) − log p(all but the last) is the log evidence of the last row after an update with the others

    A log evidence is a log probability of rows with the parameters integrated out.

    Parameters
    ----------
    case : a block, which is the model of some columns by one family, as prior and as posterior; with rows `x` (n, d)
        and their weights `r` (n, c). `sample` are positions of a few rows
    """
    yield from _predictive_of_rows(case)

    # the evidence of all rows against the normalisers of prior and posterior
    prior = case.prior
    others = prior.suffstats(case.x[:-1], case.r[:-1])  # statistics of all rows but the last
    last = prior.suffstats(case.x[-1:], case.r[-1:])
    stats = others + last
    evidence = prior.log_marginal(stats)  # terms that add up, one for each independent piece of the block
    yield _evidence_by_normalisers(case, stats, evidence)

    # the last row after all others: log p(last | others) against log p(all) − log p(others)
    of_last = np.sum(prior.update(others).log_marginal(last))
    want = np.sum(evidence - prior.log_marginal(others))
    total = float(np.sum(abs(evidence)))
    scale = max(1.0, abs(float(want)), 1e-5 * total)  # rounding of a difference of large numbers is allowed for
    yield gap("update", of_last, want, scale)


def _predictive_of_rows(case: Case) -> Iterator[Gap]:
    """log p(x_i | y = k, data) of single rows against their log evidence, under prior and posterior."""
    x = case.x[case.sample]
    for block in (case.prior, case.posterior):
        table = block.log_predictive(x)  # (n, c)
        pairs = _pairs(*table.shape)  # (i, k): row and class
        want = [_evidence(block, x[i : i + 1], k) for i, k in pairs]
        yield gap("log_predictive", [table[i, k] for i, k in pairs], want)
        if not isinstance(block, Labels):  # the class probabilities have no columns, and no score of them
            yield shared("log_score", block.log_score(x), table)


def _evidence_by_normalisers(case: Case, stats: Any, evidence: Any) -> Gap:
    """The log evidence of all rows against log Z(posterior) − log Z(prior) + Σ log h(x_i), which it should equal.

    That is so in an exponential family with conjugate priors, where Z normalises a prior or posterior, and h is the
    base measure of a row.

    Parameters
    ----------
    case : the block before and after the rows
    stats : statistics of all rows; their `log_h`, if they have one, is Σ log h(x_i)
    evidence : log evidence of each independent piece of the block
    """
    log_z = case.posterior.log_normalizer()  # of each independent piece
    log_ratio = log_z - case.prior.log_normalizer()
    log_h = getattr(stats, "log_h", np.zeros(1))  # Σ log h of the rows of each class; 0 if h is 1
    # where classes share a parameter they are one piece together: the classes are added
    if np.shape(log_h) != np.shape(log_ratio):
        log_h = np.sum(log_h, 0)

    # the difference cancels digits where the normalisers are large: so much rounding is allowed for
    scale = np.maximum(abs(evidence), 1) + 1e-6 * abs(log_z)
    return gap("log_marginal, log_normalizer", log_ratio + log_h, evidence, scale)


def leave_one_out(case: Case) -> Iterator[Gap]:
    """Law 7: the shortcut `log_loo` must equal what a posterior fitted to all other rows predicts of a row.

    `log_loo` subtracts a row from the posterior of all rows. The slow way, compared with it, fits a posterior to D₋ᵢ,
    all rows but i. The log density of row i in class k is then the log evidence of the row alone under that posterior.
    Some families, such as kernel densities, have no evidence of single rows: their `reason_against` is a text, not
    None. For them the slow way takes `log_predictive` of the posterior of D₋ᵢ instead.

    Parameters
    ----------
    case : a block, which is the model of some columns by one family, as prior and as posterior; with rows `x` (n, d)
        and their weights `r` (n, c). `sample` are positions of a few rows
    """
    x = case.x[case.sample]
    r = case.r[case.sample]
    table = case.posterior.log_loo(x, r)  # (rows of the sample, c)
    n_classes = table.shape[1]
    has_evidence = case.reason_against is None

    want = []  # of each row its log density in every class, (c,)
    for i in case.sample:
        is_other = np.arange(len(case.x)) != i
        without = case.after(is_other)  # the posterior of all rows but i
        row = case.x[i : i + 1]  # (1, d)
        if has_evidence:
            want.append([_evidence(without, row, k) for k in range(n_classes)])
        else:
            want.append(without.log_predictive(row)[0])

    # scores are the same but for a term of the row that all classes share; class probabilities (`Labels`) have none
    yield gap("log_loo", table, want)
    if not isinstance(case.posterior, Labels):
        yield shared("log_loo_score", case.posterior.log_loo_score(x, r), table)


def cumulants(case: Case) -> Iterator[Gap]:
    """Law 8: mean, variance and third cumulant of log p(x | θ) against derivatives of the evidence of a row.

    With Z = log p(x | θ), a function of the random θ, the log evidence of a row of weight t is log E p(x | θ)^t =
    log E e^(tZ): the cumulant generating function of Z. Its k-th derivative at t = 0 is the k-th cumulant of Z under
    the block. Here derivatives are taken at t = 1, where every statistic is smooth in the weight. They are then the
    cumulants under the block that was updated with the row once.

    Parameters
    ----------
    case : a block, which is the model of some columns by one family, as prior and as posterior; with rows `x` (n, d)
        and their weights `r` (n, c). `sample` are positions of a few rows
    """
    x = case.x[case.sample[:2]]  # two rows are enough: each pair of a row and a class takes 33 evidences
    for block in (case.prior, case.posterior):
        n_classes = block.shape[0]
        for i, k in _pairs(len(x), n_classes):
            other = (k + 1) % n_classes  # any other class, or the same if there is no other
            # class probabilities have cumulants of differences only, blocks of columns have those of each class
            if isinstance(block, Labels):
                yield _cumulants_of_labels(block, x[i : i + 1], k, other)
            else:
                yield from _cumulants_of_rows(block, x[i : i + 1], k, other)


def _cumulants_of_labels(block: Any, row: np.ndarray, k: int, other: int) -> Gap:
    """Cumulants of log π_k minus those of log π_other, as stated by the block and as derivatives.

    Only differences are compared, because `log_cumulants` may leave out of all classes the same term. The derivatives
    are those of the log evidence in the weight of the row in class k, minus those in its weight in the other class
    (`_slopes`). In both the row is in both classes with the weight 1 to begin with, so that they are about the same
    posterior, `after`.

    Parameters
    ----------
    block : class probabilities, as a block whose rows have no columns
    row : (1, 0) a row without columns; it is given to both classes
    k, other : the two classes
    """
    of_k = _slopes(block, row, [k], known_in=[other, k])
    of_other = _slopes(block, row, [other], known_in=[other, k])
    cumulants = np.array(of_k.after.log_cumulants())  # mean, variance and third cumulant of each class, (3, c)
    want = of_k.slope - of_other.slope  # (3,)
    scale = abs(want) + (of_k.noise + of_other.noise) / EXACT  # a gap of the size of the noise is just allowed
    return gap("log_cumulants", cumulants[:, k] - cumulants[:, other], want, scale)


def _cumulants_of_rows(block: Any, row: np.ndarray, k: int, other: int) -> Iterator[Gap]:
    """Mean, variance and third cumulant of log p(x | θ_k) of a row (1, d), where the family states them.

    They should be the first three derivatives of the log evidence of the row in its weight in class k (`_slopes`). For
    a composite block this holds of mean and variance only.

    Parameters
    ----------
    block : a block before the row, of c classes
    row : (1, d) the row
    k, other : the class, and one of the other classes
    """
    of_k = _slopes(block, row, [k])
    stated = of_k.after.log_cumulants(row)  # None if the family has no closed forms
    if stated is None:
        return
    mean, variance, third = stated  # (1, c) each
    scale = abs(of_k.slope) + of_k.noise / EXACT  # a gap of the size of the noise is just allowed
    yield gap("log_cumulants, mean and variance", [mean[0, k], variance[0, k]], of_k.slope[:2], scale[:2])
    if getattr(block, "is_composite", False):
        yield _third_cumulant_of_composite(block, row, k, other)
    else:
        yield gap("log_cumulants, third", third[0, k], of_k.slope[2], scale[2])


def _third_cumulant_of_composite(block: Any, row: np.ndarray, k: int, other: int) -> Gap:
    """The third cumulant that a composite block states against minus a third derivative of the log evidence.

    1. A composite block is the complement multinomial: θ_k describes the rows of all classes but k. The log density of
       a row in class k is Σ_{j≠k} Z_j, with Z_j = log Multinomial(x; θ_j).
    2. That is −Z_k plus a sum over all classes, which is the same for every k. The block states the cumulants of −Z_k.
    3. A row in class k does not inform θ_k, so the row is given to the class `other`. The log evidence is a sum of
       pieces, one for each θ_j. The third derivative of the piece of θ_k is the third cumulant of +Z_k.
    4. An odd cumulant changes its sign with Z: the third cumulant of −Z is minus that of Z.

    Parameters
    ----------
    block, row, k, other : as in `_cumulants_of_rows`
    """
    of_theta_k = _slopes(block, row, [other], piece=k)
    third_of_negative = of_theta_k.after.log_cumulants(row)[2]  # (1, c)
    third_of_positive = of_theta_k.slope[2]
    scale = abs(of_theta_k.slope) + of_theta_k.noise / EXACT  # a gap of the size of the noise is just allowed
    return gap("log_cumulants, third", third_of_negative[0, k], -third_of_positive, scale[2])


class _Slopes(NamedTuple):
    """How the log evidence of a row changes with its weight, at weight 1.

    Fields
    ------
    slope : (3,) first three derivatives
    noise : (3,) bound on their rounding
    after : the block with the row, at weight 1
    """

    slope: np.ndarray
    noise: np.ndarray
    after: Any


def _slopes(
    block: Any, row: np.ndarray, classes: list[int], piece: int | None = None, known_in: list[int] | None = None
) -> _Slopes:
    """Derivatives of the log evidence of a row (1, d) in its weight in some classes, at weight 1.

    They are those of t ↦ log evidence of the row with the weight 1 + t, at t = 0. Example: of three classes, with
    `classes` [0] and `known_in` [1, 0], the weights of the row in the classes are (1 + t, 1, 0).

    Parameters
    ----------
    classes : those in which the weight changes
    piece : the log evidence is a sum of pieces, one for the parameters of each class: the class whose piece is taken;
        None for the whole sum
    known_in : the classes in which the row has the weight 1 at t = 0; by default those in which its weight changes
    """
    base = np.zeros((1, block.shape[0]))  # (1, c) weights of the row at t = 0
    base[0, known_in or classes] = 1

    def evidence(t: float) -> float:
        """Log evidence of the row with its weight changed by t."""
        weights = base.copy()
        weights[0, classes] += t
        pieces = block.log_marginal(block.suffstats(row, weights))
        chosen = pieces if piece is None else pieces[piece]
        return float(np.sum(chosen))

    def evidences(t: np.ndarray) -> np.ndarray:
        """The same at each of several t."""
        return np.array([evidence(step) for step in t])

    slope, noise = _derivatives(evidences, _REACH)  # (3,) both
    after = block.update(block.suffstats(row, base))  # the posterior after the row at t = 0
    return _Slopes(slope, noise, after)


# --- the laws of parameters -----------------------------------------------------------------------------------------


def estimates(case: Case) -> Iterator[Gap]:
    """Law 9: posterior mean, posterior mode and maximum likelihood estimate (MLE) are what their names say.

    1. The mean equals the means of the marginal distributions.
    2. At the mode the log posterior density has the slope 0 along every parameter.
    3. At the MLE the log likelihood has the slope 0 along every parameter.

    A gap of 2 and 3 is the Newton step to the maximum, slope / minus the curvature, relative to the spread of the
    parameter in the posterior. Parameters on the boundary of their space, such as a probability of 0, are left out;
    shares that form a distribution have to add up to one.

    Parameters
    ----------
    case : a block, which is the model of some columns by one family, as prior and as posterior; with rows `x` (n, d)
        and their weights `r` (n, c)
    """
    block = case.posterior
    yield from _means_of_marginals(block)

    def log_posterior(theta: Theta) -> Any:
        """Log posterior density of each of several θ, (points,)."""
        return sum_of_pieces(block, block.log_prob(theta))

    def log_likelihood(theta: Theta) -> Any:
        """Σ_i Σ_c r_ic log p(x_i | θ_c) of each of several θ, (points,)."""
        return (case.r * block.log_likelihood(theta, case.x)).sum((-2, -1))

    # `_slopes_at` yields the gaps of both; the spread says how long a small step from the estimate is
    spread = _distances_of_quartiles(block, case.rng)
    mle = block.mle(case.prior.suffstats(case.x, case.r))
    yield from _slopes_at(case, "mode", log_posterior, block.mode(), spread)
    yield from _slopes_at(case, "mle", log_likelihood, mle, spread)


def _distances_of_quartiles(block: Any, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """How widely each parameter of a posterior is spread: the distance of the quartiles of 200 draws, by site.

    Sites are NumPyro's names: a block may hold log_theta, and its site is theta.
    """
    draws = to_sites(block.sample(rng, (200,)))  # (200, …) by site
    spread = {}
    for name, value in draws.items():
        upper, lower = np.quantile(value, [0.75, 0.25], axis=0)
        spread[name] = upper - lower
    return spread


def _means_of_marginals(block: Any) -> Iterator[Gap]:
    """The mean that a block states of each parameter against the mean of its marginal, where that has one."""
    means = to_sites(block.mean())
    for name, marginal in block.marginals().items():  # frozen distributions in the manner of scipy.stats
        want = np.asarray(marginal.mean(), float)
        stated = np.asarray(means[name])
        exists = np.isfinite(want)
        yield gap("mean", stated[exists], want[exists], abs(want[exists]))


def _slopes_at(
    case: Case, what: str, density: Callable[[Theta], Any], estimate: Theta, spread: dict[str, np.ndarray]
) -> Iterator[Gap]:
    """Slopes of a log density at its maximum, along single parameters of each site: they should be 0.

    A slope is told as the Newton step that it asks for (`_newton_step`), in units of a direction that is about as long
    as the spread of the parameter.

    Parameters
    ----------
    case : the block and its rows
    what : name of the estimate
    density : the log density of θ; it takes many θ at once, along a first axis
    estimate : θ where it is largest
    spread : distance of the quartiles of each parameter, by site
    """
    sites = case.prior.sites()
    point = {name: np.asarray(value, float) for name, value in to_sites(estimate).items()}
    for name, value in point.items():
        kind = kind_of(sites[name])
        if kind == "simplex":
            yield gap(what, value.sum(-1), np.ones(value.shape[:-1]))

        # the indices of 8 parameters of the site at most, evenly spaced
        indices = [*np.ndindex(*value.shape)]
        stride = math.ceil(len(indices) / _SCALARS)
        for index in indices[::stride]:
            # an array like the site: by how much the parameter, and what must move with it, moves at t = 1
            direction = _direction(value, index, kind, spread[name][index])

            # at a maximum on the boundary the slope need not be 0; the parameter cannot move there
            is_on_boundary = abs(direction[index]) <= max(1e-12 * spread[name][index], _ON_BOUNDARY)
            if not is_on_boundary:
                along = partial(_along, density, case.posterior.parameters, point, name, direction)
                yield Gap(what, _newton_step(along))


def _newton_step(along: Callable[[np.ndarray], Any]) -> float:
    """The size of the step −slope / curvature to the maximum of a log density, by as much as rounding does not explain.

    Parameters
    ----------
    along : the log density at distances t from the estimate, in some direction; its maximum should be at t = 0
    """
    with np.errstate(over="ignore", invalid="ignore"):  # beside a variance of zero there is no maximum
        (slope, curvature, _), rounding = _derivatives(along, _STEP)
    step = (abs(slope) - rounding[0]) / max(-curvature, 1e-3)  # a flat maximum has no curvature to divide by
    return max(0.0, float(step))


def _along(
    density: Callable[[Theta], Any], parameters: Any, point: Theta, name: str, direction: np.ndarray, t: np.ndarray
) -> Any:
    """A log density at distances t from a point, along a direction of one site, (len(t),).

    Parameters
    ----------
    density : the log density of θ with a first axis of points
    parameters : names of θ, as the block holds them: perhaps as logarithms
    point : the parameters by NumPyro site
    name, direction : the site that moves, and by how much at t = 1
    """
    # each site once for every t, (len(t), …); in the site that moves, copy i becomes value + t_i · direction
    path = {key: np.repeat(value[None], len(t), 0) for key, value in point.items()}
    path[name] = path[name] + np.multiply.outer(t, direction)
    return density(from_sites(parameters, path))


def _direction(value: np.ndarray, index: tuple[int, ...], kind: str, spread: float) -> np.ndarray:
    """A direction in which one parameter of a site moves, with what has to move beside it, as an array like the site.

    A small step of it, or of minus it, stays in the space of the site. It is 0 where the parameter is on the boundary.
    What moves, and how far, depends on the kind of the site:

    - "matrix": an entry of a covariance matrix and its mirror image, see `_direction_of_matrix`
    - "simplex": a share and the next one, see `_direction_of_shares`
    - "interval": a number between 0 and 1, as far as the nearer end
    - "real": a number, by the distance of its quartiles
    - "positive": a number, as far as 0

    Parameters
    ----------
    value : the values of the site; of a matrix (…, d, d), of shares (…, K)
    index : of the parameter that moves, a position on each axis of `value`. Of three matrices, (3, d, d), the index
        (2, 0, 1) is the entry (0, 1) of matrix 2
    kind : as of `kind_of`
    spread : distance of the quartiles of the parameter
    """
    direction = np.zeros_like(value)
    number = value[index]
    match kind:
        case "matrix":
            which_matrix = index[:-2]
            entry = index[-2:]
            direction[which_matrix] = _direction_of_matrix(value[which_matrix], entry)
        case "simplex":
            which_shares = index[:-1]
            k = index[-1]
            direction[which_shares] = _direction_of_shares(value[which_shares], k)
        case "interval":
            direction[index] = min(number, 1 - number)
        case "real":
            direction[index] = spread
        case _:  # "positive"
            direction[index] = number
    return direction


def _direction_of_matrix(matrix: np.ndarray, entry: tuple[int, ...]) -> np.ndarray:
    """A change E of a covariance matrix S (d, d): of its entry (i, j) and of (j, i), by ½ √(v_i v_j); 0 elsewhere.

    v_i = 1/(S⁻¹)_ii is the variance of column i given all others. With it |x'Ex| ≤ x'Sx for every x, so that S + t E
    stays positive definite for |t| < 1.
    """
    i, j = entry
    variances = 1 / np.diagonal(np.linalg.inv(matrix))  # v, (d,)
    change = np.zeros_like(matrix)
    change[i, j] = 0.5 * np.sqrt(variances[i] * variances[j])
    change[j, i] = change[i, j]
    return change


def _direction_of_shares(shares: np.ndarray, k: int) -> np.ndarray:
    """A change of K shares: share k gains what the next one loses, at most all that the smaller of the two has.

    After the last share comes the first. A single share gains and loses the same, and stays.
    """
    next_k = (k + 1) % len(shares)
    size = min(shares[k], shares[next_k])
    change = np.zeros_like(shares)
    change[k] += size
    change[next_k] -= size
    return change


# --- the rows of the report -----------------------------------------------------------------------------------------


class Law(NamedTuple):
    """A row of the report.

    Fields
    ------
    name : its name
    says : what it shows, in plain words
    compare : function of a case that yields gaps, and texts of what it leaves out
    """

    name: str
    says: str
    compare: Callable[[Case], Iterator[Gap | str]]

    def row(self, tried: list[Case]) -> CheckRow:
        """The row of the report: of all cases, the largest gap.

        Parameters
        ----------
        tried : the cases, each a block (the model of the columns of one family) with rows
        """
        gaps: list[Gap] = []
        left_out: list[str] = []
        for case in tried:
            # only leave-one-out can be compared without an evidence of single rows
            if case.reason_against and self.compare is not leave_one_out:
                left_out.append(case.reason_against)
                continue
            for outcome in self.compare(case):
                if isinstance(outcome, Gap):
                    gaps.append(outcome)
                else:
                    left_out.append(outcome)

        compared = dict.fromkeys(a_gap.what for a_gap in gaps)  # names of what was compared, each once
        remark = f"{len(gaps)} comparisons of {', '.join(compared) or 'nothing'}"
        reason = "exact in theory; rounding leaves some 1e-12"
        return worst_row(self.name, self.says, gaps, EXACT, "relative", reason, remark, left_out)


def limit_of(count: int, rate: float) -> float:
    """The limit for the largest of `count` absolute standard normal statistics, at a given rate of false alarms.

    The largest exceeds it with probability `rate` at most. By Bonferroni's bound that holds if each statistic exceeds
    it, on either of two sides, with probability rate / count. `isf` is the inverse of the upper tail probability.
    """
    return float(stats.norm.isf(rate / max(count, 1) / 2))


def worst_row(
    name: str, says: str, gaps: list[Gap], limit: float, unit: str, reason: str, remark: str, left_out: list[str]
) -> CheckRow:
    """A row whose figure is the largest of some differences, which has to stay within a limit.

    Parameters
    ----------
    name, says : title of the row, and what it shows in plain words
    gaps : the differences; one that is no number (NaN) counts as infinite
    limit, unit, reason : the largest difference allowed, its unit, and why it is allowed
    remark, left_out : what else is said: how much was compared, and what was not
    """
    worst = max(gaps, key=lambda a_gap: np.nan_to_num(a_gap.size, nan=np.inf), default=Gap("nothing", 0.0))
    if not worst.size <= limit:  # also where it is NaN
        remark = f"{worst.what} is off; " + remark
    if left_out:
        each_once = dict.fromkeys(left_out)
        remark += f"; left out: {'; '.join(each_once)}"
    return CheckRow.within(name, says, worst.size, limit, unit, reason, remark)


_SAYS = {
    "5  Likelihood": "The probability of a row at given parameters is the one that Bayes' rule implies.",
    "6  Predictive": "The prediction of a row is how much more probable the data are with that row.",
    "7  Leave-one-out": "The prediction of a row that is left out is that of a model fitted without it.",
    "8  Moments": "The mean and spread of a row's log probability, which intervals rest on, are exact.",
    "9  Estimates": "The mean, the most probable and the most likely parameters are what their names say.",
}
_COMPARED = likelihood, predictive, leave_one_out, cumulants, estimates
LAWS = tuple(Law(name, says, compare) for (name, says), compare in zip(_SAYS.items(), _COMPARED, strict=True))


def closed_rows(whole: Problem, small: Problem, rng: np.random.Generator) -> list[CheckRow]:
    """Rows 5 to 9 of the report, one for each law.

    Parameters
    ----------
    whole : all rows and columns: predictions are compared under its posterior too
    small : a few rows of each class, under which all terms of a formula count. It may be `whole` itself
    """
    small_cases = [*cases(small, rng)]  # one for each block and one for the class probabilities
    all_cases = small_cases
    if whole is not small:
        all_cases = [*cases(whole, rng, max_rows=2), *small_cases]

    # predictions are compared in all cases; the other laws in small ones only, because in a posterior of many rows the
    # terms of the prior are too small to be seen
    rows = []
    for law in LAWS:
        is_of_predictions = law.compare in (predictive, leave_one_out)
        rows.append(law.row(all_cases if is_of_predictions else small_cases))
    return rows
