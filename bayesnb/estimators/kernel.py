"""Kernel density naive Bayes for scikit-learn users."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..families.kernel_density import KernelDensity
from ..numerics.supports import LENGTH, check_choice
from ..sums.rule_of_thumb import RuleOfThumb
from ..sums.statistics import Sample
from ._base import AbstractNB
from ._documented import documented
from ._fitted import State
from ._input import BLOCK


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KernelNB(AbstractNB):
    """Naive Bayes for real features of any shape: a Gaussian kernel density for every class and feature.

    Parameters
    ----------
    bandwidth : "posterior" (default), "nrd0", float, (d,) or (c, d)
        standard deviation h of the kernels, in the unit of the feature. "posterior" learns one for each class and
        feature from how well the other cells predict each cell. "nrd0" is the rule of thumb that R's `density` uses. A
        number or an array is a known bandwidth
    {class_parameters}
    estimate : "predictive" (default), "mean", "map" or "mle"
        what prediction uses. "predictive" averages the densities over the posterior of the bandwidth. "mean" and "map"
        plug in its mean and its mode. "mle" plugs in the bandwidth with the largest leave-one-out product

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    statistics_, prior_, posterior_ : the distinct cells and their weights, and `NaiveBayes` before and after the rows

    Notes
    -----
    The prior of the bandwidth is log h ~ Normal(log h⁰, 1), with h⁰ the rule of thumb of the class's own cells. The
    prior therefore scales with the feature. It is cut off at a factor of 55 (e⁴) below and above h⁰. It is also cut off
    below half the smallest gap between distinct values of the feature, because the leave-one-out product of rounded
    data grows without bound as h → 0. If half that gap is larger than h⁰, the prior is centred on half the gap. Gaps
    below 1e-9 of the range are treated as rounding. If a class has fewer than two distinct cells, the cells of all
    classes give h⁰.

    There is no `prior=`: a kernel density has no parameters of its own, only the bandwidth, and `bandwidth=` fixes it.

    A class without any cell in a feature gets the density of the cells of all classes. Under "posterior" a constant
    column adds no information. Under "nrd0" it may add some, because R's rule gives each class another bandwidth: |x|
    or 1 times N^(−1/5). NaN is a missing cell and is left out. There is no `log_evidence_`: the leave-one-out product
    is not a density of the data.

    *Leave-one-out.* `loo` removes a row from the kernels and from the posterior of every bandwidth. The prior of the
    bandwidths stays: h⁰ and the limits are those of all rows. `loo(…, prior="refit")` takes the row out of them too, in
    about the same time. Over many columns the difference adds up, so `compare`, `report` and
    `CalibratedClassifierLOO` use it.

    *Weights and copies.* A weight of 2 means two equal rows. Under "posterior" equal rows predict each other, which
    pulls the bandwidth towards its lower limit. Copied rows do the same. Leave-one-out does not show it, because a row
    is then predicted by its copy, unless `groups` leaves both out. An example of 100 normal rows in two classes has a
    log loss of 0.33 on new rows. It is 6.7 if all weights are 2, or if each row occurs twice. Replace copies by one row
    with a weight, and divide weights by the largest, so that none is above 1. Or use bandwidth="nrd0". Both keep the
    log loss of the example below 0.34.

    *Far cells.* Far from all training cells the average over the bandwidth belongs to wide kernels, which the rows have
    ruled out nearly everywhere else. The class odds of such a cell say how each class's tail was smoothed, and are no
    evidence.

    References
    ----------
    Silverman (1986), Density Estimation for Statistics and Data Analysis, §3.4 (bandwidths).

    Examples
    --------
    A class with two peaks, which a normal density would miss:

    >>> import numpy as np
    >>> from bayesnb import GaussianNB, KernelNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["middle", "sides"], 100)
    >>> X = rng.normal(size=(200, 1)) + np.where(y == "sides", rng.choice([-4, 4], 200), 0)[:, None]
    >>> [round(nb.fit(X, y).loo(X, y).log_loss, 2) for nb in (KernelNB(), GaussianNB())]
    [0.06, 0.2]
    """

    bandwidth: Any = "posterior"
    prior: Any = field(default=None, init=False)  # see the Notes

    _family = KernelDensity
    _variants: ClassVar = {"kernel": {}}
    _most_cells = 20_000

    def _default_blocks(self, state: State) -> dict[str, Any]:
        """The prior: a kernel density without cells, because a prior has seen no rows, with what is known of h.

        A *cell* is one entry of X. The density of a feature in a class is the mean of normal densities with standard
        deviation h, one around each of the class's own training cells. An update adds these cells later. The bandwidth
        h depends on the setting `bandwidth`:

        - numbers: known
        - "nrd0": known, by the rule of thumb of the training cells
        - "posterior": learnt, with a prior that is centred on the rule of thumb and has limits below and above it

        Parameters
        ----------
        state : with classes and columns, and with statistics if the rows give the rule of thumb
        """
        # the statistics of this family are the cells themselves: a `Sample` has the distinct values of each class and
        # feature, with their weights. This one is empty
        no_cells = Sample.none(*state.shape)

        # given by the user, in the unit of the feature
        if not isinstance(self.bandwidth, str):
            widths = state.numbers("bandwidth", self.bandwidth, LENGTH)  # (c, d)
            return {BLOCK: KernelDensity(np.log(widths), no_cells)}

        # from the training cells. The rule of thumb gives h⁰ from the spread and the number of cells of a class. The
        # logarithm log h has the prior Normal(centre, 1) between the limits `low` and `high`, where `centre` is log h⁰,
        # or the logarithm of half the smallest gap between cells if that is larger. Without rows the block only
        # collects cells, and any bandwidth will do
        check_choice("bandwidth", self.bandwidth, ("posterior", "nrd0"))
        training_cells = no_cells if state.statistics is None else state.statistics.blocks[BLOCK]
        prior = self._rule.of_cells(training_cells)  # `centre`, `low` and `high` of log h, (c, d) each
        if self.bandwidth == "nrd0":  # without limits the bandwidth is known
            return {BLOCK: KernelDensity(prior.centre, no_cells)}
        return {BLOCK: KernelDensity(prior.centre, no_cells, prior.low, prior.high)}

    @property
    def _rule(self) -> RuleOfThumb:
        """How the cells scale the prior of the bandwidths."""
        return RuleOfThumb(is_known=self.bandwidth == "nrd0")

    def _blocks_with_rules(self, blocks: dict[str, Any]) -> dict[str, Any]:
        """The blocks with the rule of thumb, so that `log_loo` makes the prior of a bandwidth without the row."""
        return {name: replace(block, rule=self._rule) for name, block in blocks.items()}

    @property
    def _default_follows_rows(self) -> bool:
        return isinstance(self.bandwidth, str)
