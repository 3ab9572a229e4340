"""MAP or the whole posterior: what is compared, by hand; and NUTS within its Monte Carlo error."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesnb
from bayesnb import map_or_posterior
from bayesnb.analysis.map_or_posterior import jitted_map
from bayesnb.numerics.special import log_normalize

from ..estimators_table import ALL, mostly_slow, these

X, Y = load_iris(return_X_y=True)
FEW = slice(0, None, 10)  # 15 rows
X_NEW, Y_NEW = X[3::10], Y[3::10]


@pytest.mark.parametrize("nb", mostly_slow(ALL, these("GaussianNB()", "MultinomialNB()")), ids=repr)
def test_the_jitted_map_is_the_mode_of_the_closed_form(nb: Any) -> None:
    cells = np.round(X)
    fitted = clone(nb).fit(cells[FEW], Y[FEW])
    rows = fitted.model_.encode(cells)
    log_p = jitted_map(fitted, cells[FEW], Y[FEW], rows)
    expected = log_normalize(fitted.posterior_.log_joint(rows, fitted.posterior_.mode()))
    np.testing.assert_allclose(np.exp(log_p), np.exp(expected), rtol=1e-9, atol=1e-13)


def test_the_frame_and_the_summary_by_hand() -> None:
    nb = bayesnb.GaussianNB().fit(X[FEW], Y[FEW])
    result = map_or_posterior(bayesnb.GaussianNB(), X[FEW], Y[FEW], X_NEW, Y_NEW, nuts=False, n_draws=300, seed=5)
    frame = result.frame
    assert frame["row"].tolist() == np.repeat(np.arange(15), 3).tolist()
    assert frame["class_"].tolist() == [0, 1, 2] * 15
    rows = nb.model_.encode(X_NEW)
    by_map = np.exp(log_normalize(nb.posterior_.log_joint(rows, nb.posterior_.mode())))
    at_draws = nb.sample_proba(X_NEW, 300, 5)
    shown = {name: frame[name].to_numpy().reshape(15, 3) for name in ("map", "predictive", "mean", "low", "high")}
    np.testing.assert_allclose(shown["map"], by_map, rtol=1e-9)
    np.testing.assert_allclose(shown["predictive"], nb.predict_proba(X_NEW), rtol=1e-12)
    np.testing.assert_allclose(shown["mean"], at_draws.mean(0), rtol=1e-9)
    quantiles = np.exp(np.quantile(np.log(at_draws), [0.05, 0.95], axis=0))
    np.testing.assert_allclose([shown["low"], shown["high"]], quantiles, rtol=1e-9)
    loss = -np.log(by_map[np.arange(15), Y_NEW])
    beyond = loss + nb.predict_log_proba(X_NEW)[np.arange(15), Y_NEW]
    of_map = result.summary.loc["MAP"]
    assert of_map["log_loss"] == pytest.approx(loss.mean())
    assert of_map["difference"] == pytest.approx(beyond.mean())
    assert of_map["se"] == pytest.approx(beyond.std(ddof=1) / np.sqrt(15))
    assert result.summary.loc["predictive", "difference"] == 0


def test_distance_labels_and_rows_outside() -> None:
    """Of two classes: log odds in standard deviations of log odds; the first rows are those between the classes."""
    two = slice(50, None)
    train, y = X[two][::12], Y[two][::12]
    nb = bayesnb.GaussianNB().fit(train, y)
    result = map_or_posterior(bayesnb.GaussianNB(), train, y, X[two], nuts=False, n_draws=400)
    assert list(result.summary.columns) == ["seconds"]  # there are no labels to score
    at_draws = nb.sample_proba(X[two], 400, 0)
    log_odds = np.log(at_draws[..., 1]) - np.log(at_draws[..., 0])
    mean = at_draws.mean(0)[:, 1]
    by_map = result.frame["map"].to_numpy()[1::2]
    gap = np.log(by_map / (1 - by_map)) - np.log(mean / (1 - mean))
    np.testing.assert_allclose(result.distance, abs(gap) / log_odds.std(0), rtol=1e-6)
    np.testing.assert_array_equal(result.changed, np.flatnonzero((by_map > 0.5) != (mean > 0.5)))
    top = result.frame.loc[result.frame.groupby("row")["mean"].idxmax()]
    is_outside = (top["map"] < top["low"]) | (top["map"] > top["high"])
    np.testing.assert_array_equal(result.outside, np.flatnonzero(is_outside))
    assert f"{len(result.outside)} of 100 rows. This is no score" in str(result)


@pytest.mark.parametrize("nb", mostly_slow([bayesnb.BernoulliNB(binarize=3), bayesnb.PoissonNB()], lambda nb: False))
@pytest.mark.parametrize("n_cells", [20_000, 0])
def test_nuts_gives_the_same_number(nb: Any, n_cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On rows and on their sums: posterior means within five Monte Carlo errors of both, ends of intervals near."""
    monkeypatch.setattr("bayesnb.analysis.map_or_posterior._MOST_CELLS", n_cells)
    result = map_or_posterior(nb, np.round(X[FEW]), Y[FEW], np.round(X_NEW), n_draws=2000, chains=2)
    assert result.nuts_data == ("rows" if n_cells else "sums of the rows")
    frame = result.frame
    sd = (frame["high"] - frame["low"]) / 3.29 + 1e-3
    error = sd * np.sqrt(1 / 2000 + 1 / 500)  # NUTS has 500 effective draws at the least
    assert (abs(frame["nuts_mean"] - frame["mean"]) < 5 * error).all()
    assert (abs(frame["nuts_high"] - frame["high"]) < 0.1).all()
    assert result.summary.index.tolist() == ["MAP", "predictive", "posterior mean", "posterior mean by NUTS"]


def test_a_mode_on_the_boundary_is_the_cause_that_is_named() -> None:
    result = map_or_posterior(
        bayesnb.CategoricalNB(), np.round(X[FEW]), Y[FEW], np.round(X_NEW), nuts=False, n_draws=50
    )
    assert result.is_on_boundary
    assert "a parameter of the MAP is on its boundary" in str(result)


def test_what_is_wrong_is_named() -> None:
    nb = bayesnb.GaussianNB()
    train = X[FEW], Y[FEW]
    bad: dict[str, Any] = {
        "`level`": lambda: map_or_posterior(nb, *train, X_NEW, level=1.5),
        "`n_draws`": lambda: map_or_posterior(nb, *train, X_NEW, n_draws=1),
        "`chains`": lambda: map_or_posterior(nb, *train, X_NEW, chains=0),
        "inconsistent numbers": lambda: map_or_posterior(nb, *train, X_NEW, Y_NEW[:3]),
        "do not exist": lambda: map_or_posterior(nb, *train, X_NEW, Y_NEW + 7),
        "OneDependenceNB": lambda: map_or_posterior(bayesnb.OneDependenceNB(), *train, X_NEW),
        "`estimator` is DiscriminativeNB": lambda: map_or_posterior(bayesnb.DiscriminativeNB(), *train, X_NEW),
    }
    for match, call in bad.items():
        with pytest.raises(ValueError, match=match):
            call()
