"""The study of DiscriminativeNB: all numbers of its tables are in the CSV."""

from .benchmarks import sharper, trust


def test_every_number_of_the_page_is_in_the_csv() -> None:
    records = trust.read_csv(sharper.CSV)
    page = sharper.PAGE.read_text("utf-8")
    assert sharper.fill(page, records) == page
    assert sharper.losses(records) in (trust.DOCS / "data" / "sharper-page.txt").read_text("utf-8")
    assert not {*records["table"]} & {*trust.KEPT_ASIDE}
    part = records[records["size"] == "1000"]
    losses = part.pivot_table("log_loss", "table", "method")
    difference = (losses["discriminative"] - losses["boosting_cv"]).dropna()
    row = next(line for line in page.splitlines() if line.startswith("| boosting | 1000 |"))
    assert f"| {len(difference)} | {trust.signed(difference.mean())} (" in row


def test_tables_kept_aside_are_their_raw_results() -> None:
    records = trust.read_csv(trust.DOCS / "data" / "sharper-kept-aside.csv.gz")
    assert {*records["table"]} == {*trust.KEPT_ASIDE}
    page = sharper.PAGE.read_text("utf-8")
    for rival, name in sharper.RIVALS.items():
        both = records[records["split"] == records["split"].min()] if rival == "boosting_cv" else records
        cells = trust.excess(both, "discriminative", [rival])
        worst, count = f"{trust.signed(cells.max())} ({cells.idxmax()[0]}", f"{(cells <= 0).sum()} of {len(cells)}"
        row = next(
            line
            for line in page.splitlines()
            if line.startswith(f"| {name} | {trust.over_tables(trust.by_table(cells))} |")
        )
        assert worst in row and count in row
