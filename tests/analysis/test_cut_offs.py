"""Tables of cut-offs: counted by hand, with intervals that hold, at the prevalence that is asked for."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta

import bayesnb
from bayesnb import threshold_table

Y = np.array(["no", "no", "no", "no", "yes", "yes", "yes", "no"])
P = np.array([0.1, 0.2, 0.2, 0.6, 0.2, 0.7, 0.9, 0.4])


def test_a_table_by_hand() -> None:
    cuts = threshold_table(Y, P, thresholds=[0.2, 0.65])
    row = cuts.table.loc[0.2]
    assert (row.true_positives, row.false_positives) == (3, 4)
    assert row.sensitivity == 1 and row.specificity == pytest.approx(0.2)
    assert row.share_flagged == pytest.approx(7 / 8) and row.ppv == pytest.approx(3 / 7) and row.npv == 1
    assert row.net_benefit == pytest.approx(3 / 8 - 4 / 8 * 0.25)
    assert cuts.table.loc[0.65].ppv == 1
    assert [*cuts.table.index] == [0.2, 0.5, 0.65] and cuts.table.loc[0.5].mark == "costs"
    assert (cuts.n_positive, cuts.n_negative, cuts.prevalence) == (3, 5, 3 / 8)
    assert [row.sensitivity_low, row.sensitivity_high] == pytest.approx([*beta(3.5, 0.5).ppf([0.05, 0.95])])


def test_all_other_numbers_are_for_the_prevalence() -> None:
    row = threshold_table(Y, P, thresholds=[0.5], prevalence=0.01).table.loc[0.5]
    sensitivity, specificity = 2 / 3, 4 / 5
    assert (row.sensitivity, row.specificity) == pytest.approx((sensitivity, specificity))
    flagged = 0.01 * sensitivity + 0.99 * (1 - specificity)
    assert row.share_flagged == pytest.approx(flagged)
    assert row.ppv == pytest.approx(0.01 * sensitivity / flagged)
    assert row.npv == pytest.approx(0.99 * specificity / (1 - flagged))
    assert row.net_benefit == pytest.approx(0.01 * sensitivity - 0.99 * (1 - specificity))
    for name in ("share_flagged", "ppv", "npv", "net_benefit"):
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    assert "prevalence of 0.01" in str(threshold_table(Y, P, prevalence=0.01))


def test_the_mark_is_the_cut_of_the_costs_not_the_best_row() -> None:
    cuts = threshold_table(Y, P, thresholds=[0.1, 0.65], false_negative=4)
    assert cuts.cost_threshold == 0.2
    assert [*cuts.table.index[cuts.table.mark == "costs"]] == [0.2]
    assert "→ 0.2" in str(cuts) and "least expected cost: 0.2." in str(cuts)
    # a cut-off of the table that the costs ask for is marked, and stands there once
    same = threshold_table(Y, P, false_negative=9)
    assert same.table.index.is_unique and same.table.loc[0.1].mark == "costs"


def test_a_cut_that_the_rows_choose_is_called_so() -> None:
    cuts = threshold_table(Y, P, sensitivity=0.6)
    chosen = cuts.table[cuts.table.mark == "chosen here"]
    assert [*chosen.index] == [0.7] and chosen.sensitivity.iloc[0] >= 0.6
    assert "chosen on these rows" in str(cuts) and "chosen on these rows" not in str(threshold_table(Y, P))
    assert threshold_table(Y, P, sensitivity=0.99).table.query("mark == 'chosen here'").index[0] == 0.2


def test_an_estimator_gives_its_leave_one_out_and_says_so() -> None:
    data = bayesnb.datasets.load("breast_cancer")
    nb = bayesnb.GaussianNB().fit(data.X, data.y)
    of_model = threshold_table(data.y, nb, data.X, positive="benign")
    p = nb.loo(data.X, data.y).proba[:, 0]
    given = threshold_table(data.y, p, positive="benign")
    assert of_model.table.equals(given.table)
    assert "leave-one-out: each row is predicted from all others, with p(y) of all rows" in str(of_model)
    assert "as they were given" in str(given)


def test_counts_are_repeated_rows() -> None:
    times = np.array([1, 3, 0, 2, 1, 2, 1, 1])
    counted = threshold_table(Y, P, sample_weight=times)
    assert counted.table.equals(threshold_table(Y.repeat(times), P.repeat(times)).table)
    assert (counted.n_positive, counted.n_negative) == (4, 7)


@pytest.mark.parametrize("name", ["sensitivity", "specificity", "ppv", "net_benefit"])
@pytest.mark.slow
def test_intervals_hold_their_level(name: str) -> None:
    """Over tables, 90 % intervals hold the numbers of a million rows in 90 % of the tables, within three errors."""
    rng = np.random.default_rng(0)

    def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        p = rng.beta(0.7, 1.5, n)
        return rng.random(n) < p, p

    true = threshold_table(*rows(1_000_000), thresholds=[0.3], positive=True)
    holds = []
    for _ in range(300):
        row = threshold_table(*rows(80), thresholds=[0.3], positive=True, prevalence=true.prevalence).table.loc[0.3]
        holds.append(row[f"{name}_low"] <= true.table.loc[0.3][name] <= row[f"{name}_high"])
    assert abs(np.mean(holds) - 0.9) < 3 * np.sqrt(0.9 * 0.1 / 300)


def test_what_is_not_defined_is_a_dash() -> None:
    cuts = threshold_table(Y, P, thresholds=[0.95])
    assert np.isnan(cuts.table.loc[0.95].ppv) and cuts.shown()["PPV"].iloc[1] == "–"


def test_what_is_refused() -> None:
    wrong = {
        "`probability` has shape": {"probability": P[:3]},
        "`thresholds` are": {"thresholds": [0.0, 0.5]},
        "`prevalence`": {"prevalence": 1.5},
        "`positive` is 'maybe'": {"positive": "maybe"},
        "its weights are importance": {"sample_weight": np.full(8, 0.5)},
        "`X` is None": {"probability": bayesnb.GaussianNB().fit(P[:, None], Y)},
        "the costs are": {"false_positive": 0},
    }
    for message, arguments in wrong.items():
        with pytest.raises(ValueError, match=message):
            threshold_table(Y, **({"probability": P} | arguments))
    with pytest.raises(ValueError, match="no negative row"):
        threshold_table(np.array(["yes", "yes"]), np.array([0.2, 0.4]), positive="yes")


def test_more_classes_need_a_label() -> None:
    data = bayesnb.datasets.load("iris")
    nb = bayesnb.GaussianNB().fit(data.X, data.y)
    with pytest.raises(ValueError, match="`positive` is needed with 3 classes"):
        threshold_table(data.y, nb, data.X)
    for label, cut in itertools.product(nb.classes_.tolist(), (0.3, 0.9)):
        row = threshold_table(data.y, nb, data.X, positive=label, thresholds=[cut]).table.loc[cut]
        assert row.sensitivity > 0.7
