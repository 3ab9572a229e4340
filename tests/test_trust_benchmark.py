"""The study of class probabilities: its measures and its judgement, and its page, whose numbers are in the CSV."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from .benchmarks import trust


@pytest.mark.parametrize(("counts", "n"), [([50, 50, 50], 50), ([2871, 250], 50), ([990, 10], 50), ([7, 90, 40], 100)])
def test_training_rows_have_every_class_twice(counts: list[int], n: int) -> None:
    share = trust.allocate(np.array(counts), n)
    assert share.sum() == n
    assert (share >= 2).all() and (share <= counts).all()
    assert abs(share - n * np.array(counts) / sum(counts)).max() <= 2


def test_what_is_kept_aside_is_refused(tmp_path: Path) -> None:
    assert len(trust.KEPT_ASIDE) == len(trust.TABLES) // 3 == 12
    assert not {*trust.KEPT_ASIDE} & {*trust.SEEN_BEFORE}
    with pytest.raises(SystemExit, match="iris: kept aside until the methods are frozen"):
        trust.main(["--tables", "iris", "--csv", str(tmp_path / "trust.csv")])


def records(losses: dict[str, list[float]], table: str = "wine", **more: Any) -> pd.DataFrame:
    """Made-up records: a list of losses, one a split, of each method."""
    return pd.DataFrame(
        {"table": table, "size": "50", "n": 50, "split": i, "method": m, "log_loss": v, "fit_seconds": 1.0, **more}
        for m, values in losses.items()
        for i, v in enumerate(values)
    )


def test_judged_as_the_protocol_says() -> None:
    first = {"plain": [0.3, 0.5], "loo": [0.4, 0.6], "cv_sigmoid": [0.3, 0.5], "cv_isotonic": [0.1, 0.8]}
    second = {"plain": [0.5, 0.7], "loo": [0.45, 0.8], "cv_sigmoid": [0.7, 0.7], "cv_isotonic": [0.9, 0.9]}
    found = pd.concat([records(first), records(second, "oj")])
    excess = trust.excess(found, "loo", trust.RIVALS)
    assert excess.to_numpy() == pytest.approx([0.5 - 0.4, 0.625 - 0.7])  # the best rival of the cell, not of the split
    assert trust.over_tables(excess).mean == pytest.approx(0.0125)
    assert (trust.over_tables(excess).low, trust.over_tables(excess).high) == pytest.approx((-0.075, 0.1))
    worse = trust.worse_than_plain(found)  # .1 in both splits of wine; −.05 and .1 in those of oj
    assert worse.droplevel(["size", "n"]).to_dict() == {"wine": True, "oj": False}
    assert set(trust.groups(found)) == {"development", "kept aside", "all"}


def test_every_number_of_the_page_is_in_the_csv() -> None:
    found = trust.read_csv(trust.CSV)
    page = trust.PAGE.read_text()
    made = trust.fill(page, found)
    assert made == page
    assert trust.appendix(found) == trust.APPENDIX.read_text()
    said = " ".join(page.split("### Protocol")[0].split())
    for group, part in trust.groups(found).items():
        interval = trust.over_tables(trust.by_table(trust.excess(part, "loo", trust.RIVALS)))
        row = f"| {group} ({part['table'].nunique()}) | loo, against CV around bayesnb | {interval} |"
        assert row in trust.APPENDIX.read_text() and (row in page) == (group != "development")
    aside = trust.groups(found)["kept aside"]  # what the text says of them
    for method, rivals, form in (
        ("loo", trust.RIVALS, "{} nats on average (95 % interval {} to {})"),
        ("onedep_loo", ["logistic"], "{} nats ({} to {})"),
    ):
        interval = trust.over_tables(trust.by_table(trust.excess(aside, method, rivals)))
        assert form.format(*map(trust.signed, (interval.mean, interval.low, interval.high))) in said
    slow = trust.fit_ratios(trust.groups(found)["development"]).loc[lambda r: r.index.get_level_values("n") >= 1000]
    assert f"four of {len(slow)} cells" in said and (slow > 0.5).sum() == 4 and f"at most {slow.max():.2f}." in said
    ratio = trust.fit_ratios(aside)
    many = ratio.index.get_level_values("n") >= 1000
    assert f"takes {ratio[many].median():.2f} of the time" in said and f"at most {ratio[many].max():.2f}), and" in said
    assert f"{ratio[~many].median():.2f} below (at most {ratio[~many].max():.2f})" in said
