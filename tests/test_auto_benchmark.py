"""The study of `choose_predictor`: the figures of its page are in the CSV."""

import pandas as pd

from .benchmarks import auto, sharper, trust


def test_figures_of_the_page_are_in_the_csv() -> None:
    records = pd.read_csv(auto.CSV, dtype={"size": str})
    assert not {*records["table"]} & {*trust.KEPT_ASIDE}
    page = sharper.PAGE.read_text("utf-8")
    lines = auto.show_tables(records).splitlines()
    for kind, line in zip(auto.MODEL_KINDS, lines, strict=False):
        mean, n_tables = line.partition(": ")[2].split(" tables;")[0].split(" over ")
        worst = line.partition("worst cell ")[2].partition(";")[0]
        assert f"| {kind} always | {n_tables} | {mean} | {worst} |" in page
    table, n, value = (
        records.assign(gap=records["taken"] - records["frequencies"])
        .groupby(["table", "n"])["gap"]
        .mean()
        .nlargest(1)
        .reset_index()
        .iloc[0]
    )
    assert f"more than {value:.3f} above class frequencies ({table}, {n} rows)" in page
