"""The study of class probabilities: what is kept aside is refused, and every number of its page is in the CSV."""

from pathlib import Path

import pytest

from .benchmarks import trust


def test_what_is_kept_aside_is_refused(tmp_path: Path) -> None:
    assert len(trust.KEPT_ASIDE) == len(trust.TABLES) // 3 == 12
    assert not {*trust.KEPT_ASIDE} & {*trust.SEEN_BEFORE}
    with pytest.raises(SystemExit, match="iris: kept aside until the methods are frozen"):
        trust.main(["--tables", "iris", "--csv", str(tmp_path / "trust.csv")])


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
