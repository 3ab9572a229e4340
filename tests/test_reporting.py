"""The page about a model: what it says and warns of, what it compares, and how it looks in a browser."""

import functools
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import bayesnb
from bayesnb import cli
from bayesnb.numerics.supports import COMPOSITE
from bayesnb.reporting.html import inline_svg
from bayesnb.reporting.other_models import candidates, compared
from bayesnb.tables.columns import Column, ColumnContract

from .docs.test_docs_build import Page
from .estimators_table import DEFAULTS


@functools.cache
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 120
    y = np.where(rng.random(n) < 0.4, "<ill>", "well")
    ill = y == "<ill>"
    X = pd.DataFrame(
        {
            "fever": rng.normal(37, 0.5, n) + ill,
            "cough": (rng.random(n) < 0.3 + 0.4 * ill).astype(float),
            "town & country": np.array(["north", "south"])[rng.integers(0, 2, n)],
            "a column with a very long name that would not fit a narrow screen": rng.normal(size=n),
        }
    )
    X.loc[::4, "fever"] = np.nan
    return X, y


@functools.cache
def made() -> Any:
    X, y = table()
    return bayesnb.report(bayesnb.MixedNB(), X, y)


class Words(Page):
    """The text of a page, too, and the tags that are open at its end."""

    def __init__(self, html: str) -> None:
        self.open: list[str] = []
        self.text = ""
        super().__init__(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attributes)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_needs_nothing_from_elsewhere() -> None:
    found = Words(made().html)
    assert found.open == []
    assert len(set(found.anchors)) == len(found.anchors)
    assert all(link.startswith(("#", "data:")) for link in found.targets)
    assert {link[1:] for link in found.targets if link.startswith("#")} <= set(found.anchors)
    assert "<script" not in made().html
    outside = set(re.findall(r"https?://[^\s\"']*", made().html))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_the_page_says_what_the_model_says(tmp_path: Path) -> None:
    X, y = table()
    nb = bayesnb.MixedNB().fit(X, y)
    loo, said = nb.loo(X, y), Words(made().html).text
    assert f"{loo.accuracy:.1%}" in said and f"{loo.log_loss:.3f}" in said
    assert made().accuracy == loo.accuracy and made().log_loss == loo.log_loss
    assert f"{nb.log_evidence_:,.3f}".replace("-", "−") in said
    for heading in ("Columns", "Classes", "Calibration", "Confusion table", "Importance of the features"):
        assert heading in said
    for name in ("fever", "town & country", "<ill>"):
        assert name in said
    least = int(loo.proba.max(1).argmin())
    assert (
        f"Row {least:,}: the other rows predict" in said and f"with probability {loo.proba[least].max():.3f}," in said
    )
    assert "Column fever: 25% of the cells are missing." in said
    assert "numbers: KernelNB()" in said  # a model that was tried beside this one
    assert said.count("log odds of") >= 4
    loss = bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()).fit(X, y).loo_log_loss_
    assert f"{loss['plain']:.4f} nats a row, {loss['calibrated']:.4f} after calibration." in said
    assert "Brier" in said and "MCB" in said
    made().save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == made().html


@pytest.mark.slow
def test_a_contract_and_title_of_ones_own() -> None:
    X, y = table()
    column = Column("fever", "numbers", "all cells are numbers", 9, 0.5, "37", "look here")
    nb = bayesnb.GaussianNB().fit(X[["fever"]], y)
    contract = ColumnContract((column,), len(y))
    mine = bayesnb.report(nb, X[["fever"]], y, title="A & B", contract=contract, others=None)
    said = Words(mine.html).text
    assert "A & B" in said and "all cells are numbers; look here" in said
    assert "Column 'fever': look here." in mine.warnings
    assert "Which model is preferred" not in said


@pytest.mark.slow
def test_the_rarest_classes_are_named_and_nomograms_are_of_the_classes_of_their_captions() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(10), [30, 19, 18, 17, 16, 15, 14, 13, 12, 3])
    X = pd.DataFrame({"pay in $ per $": rng.normal(size=len(y)), "_b": rng.normal(size=len(y))})
    mine = bayesnb.report(bayesnb.GaussianNB(), X, y, others=None)
    assert mine.warnings[0].startswith(
        "Few rows in some classes: '9 (3)', '8 (12)', '7 (13)', '6 (14)', '5 (15)', '4 (16)'"
    )
    said = Words(mine.html).text
    predicted = re.findall(r"the other rows predict (\d) with", said)
    assert predicted == re.findall(r"log odds of (\d) against", said) and len(predicted) == 4
    assert "pay in $ per $" in said


@pytest.mark.slow
def test_warnings_name_what_is_wrong() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], [45, 15])

    def said_of(X: np.ndarray, nb: Any = None) -> str:
        return " ".join(bayesnb.report(nb or bayesnb.GaussianNB(), X, y, others=None).warnings)

    noise = rng.normal(size=(60, 5))
    chance = said_of(noise)
    assert "'yes (15)'. Their results are uncertain." in chance
    assert "is no better than with the class frequencies" in chance
    assert "which leave-one-out ignores" not in chance and "equal an earlier row" not in chance
    copies = np.repeat(noise[:, :1] + 1.0 * (y == "yes")[:, None], 5, axis=1)
    assert "The model is too sure of itself" in said_of(copies)
    answer = noise.copy()
    answer[:, 2] = 20.0 * (y == "yes") + 0.1 * noise[:, 2]
    leak = said_of(answer)
    assert "determines the label almost completely" in leak
    noise[30:] = noise[:30]
    assert "15 of 60 rows equal an earlier row in all columns. If they are of one person or case" in said_of(noise)
    assert "equal an earlier row" not in said_of(noise.round())  # whole numbers may be equal by chance
    plugged = said_of(noise, bayesnb.GaussianNB(estimate="mle"))
    assert "The model predicts with estimate='mle', which leave-one-out ignores." in plugged


@pytest.mark.slow
def test_copies_are_counted_over_all_columns_of_the_file(tmp_path: Path) -> None:
    """Equal rows of coarse features are of several people if their names differ."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"fare": rng.choice([7.25, 8.05, 13.5], 90), "age": rng.choice([20, 30, 40.5], 90)})
    frame = frame.assign(kind=rng.choice(["a", "b"], 90), name=[f"passenger {i}" for i in range(90)])
    for repeated, is_named in ((frame, False), (pd.concat([frame, frame[:30]]), True)):
        repeated.to_csv(tmp_path / "t.csv", index=False)
        asked = ["report", str(tmp_path / "t.csv"), "--target", "kind", "--model", "plain"]
        assert cli.main([*asked, "-o", str(tmp_path / "page.html")]) == 0
        page = (tmp_path / "page.html").read_text("utf-8")
        assert ("30 of 120 rows equal an earlier row in all columns" in page) == is_named
        assert "drop them" not in page


@pytest.mark.slow
def test_every_kind_of_rows_has_a_page() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(48) % 14
    counts = rng.poisson(1 + y[:, None] % 3, size=(48, 6))
    many = bayesnb.report(bayesnb.MultinomialNB(), sparse.csr_array(counts), y)
    assert "predicted as" in Words(many.html).text  # 14 classes are too many for a table
    parents = bayesnb.report(bayesnb.OneDependenceNB(), rng.integers(0, 3, (48, 3)), y % 2, others=None)
    assert "Importance" in Words(parents.html).text
    nb = bayesnb.GaussianNB().fit(counts * 1.0, y % 2)
    calibrated = bayesnb.report(bayesnb.CalibratedClassifierLOO(nb), counts * 1.0, y % 2, others=None)
    assert "after calibration" not in Words(calibrated.html).text
    loo = nb.loo(counts * 1.0, y % 2)
    sure = loo.proba.max(1) * (loo.log_joint.argmax(1) != loo.index)
    page = Words(bayesnb.report(nb, counts * 1.0, y % 2, others=None).html).text
    row = sure.argmax()  # the most certain mistake
    assert f"Row {row}: the other rows predict {loo.predicted[row]} with probability {sure[row]:.3f}" in page
    with pytest.raises(ValueError, match="1 classes"):
        bayesnb.report(bayesnb.BernoulliNB(), counts, np.zeros(48))
    with pytest.raises(ValueError, match="`level`"):
        bayesnb.report(bayesnb.BernoulliNB(), counts, y, level=2.0)


def test_figures_take_the_colour_of_the_page_and_leave_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    svg = inline_svg(lambda ax: ax.plot([0, 1], [1, 0], label="x"), "a <title>")
    assert dict(matplotlib.rcParams) == before
    assert svg.startswith("<svg") and "currentColor" in svg and 'aria-label="a &lt;title&gt;"' in svg
    assert "#ffffff" not in svg and "#000000" not in svg


@pytest.mark.slow
def test_the_page_shows_what_was_taken_and_why(tmp_path: Path) -> None:
    X, y = table()
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    asked = ["report", str(tmp_path / "t.csv"), "--target", "label", "-o", str(tmp_path / "page.html")]
    assert cli.main(asked) == 0
    text = Words((tmp_path / "page.html").read_text("utf-8")).text
    data = bayesnb.datasets.read_table(tmp_path / "t.csv", "label")
    choice = bayesnb.choose_predictor(bayesnb.MixedNB(), data.X, data.y)
    assert "Which kind of model was taken" in text and f"Taken: {choice.kind}. {choice.reason}" in text
    for name, loss in choice.table["log_loss"].items():
        assert name in text and f"{loss:.3f}" in text
    coverage = getattr(choice.estimator, "interval_coverage", "")
    assert coverage[1:] in text
    assert "Which kind of model was taken" not in Words(made().html).text


def test_the_first_lines_say_what_the_rows_are() -> None:
    X, y = table()
    text = Words(made().html).text
    n_ill = int((y == "<ill>").sum())
    assert f"well {120 - n_ill} ({1 - n_ill / 120:.1%}), <ill> {n_ill} ({n_ill / 120:.1%})" in text
    assert "30 of 480 (6.2%), in 1 of 4 columns" in text
    assert "Groups of rowsnot known" in text
    curves = bayesnb.roc_curves(bayesnb.MixedNB(), X, y)
    assert f"area under the ROC curve {curves.roc_auc.value:.3f} ({curves.roc_auc.low:.3f}" in text


@pytest.mark.slow
def test_curves_cuts_and_effects_are_those_of_the_functions() -> None:
    X, y = table()
    nb = bayesnb.MixedNB().fit(X, y)
    wishes: Any = {"positive": "<ill>", "false_negative": 4, "prevalence": 0.02, "sensitivity": 0.9}
    html = bayesnb.report(nb, X, y, others=None, **wishes).html
    cuts = bayesnb.threshold_table(y, nb, X, **wishes)
    text = " ".join(Words(html).text.split())
    for line in cuts.shown().to_numpy():
        assert all(" ".join(cell.split()) in text for cell in line)
    assert "→ is the cut-off that the costs ask for, 0.2." in text and "* was chosen on these rows" in text
    assert "are for a share of 0.02 of <ill>" in text
    for name in ("fever", "a column with a very long name that would not fit a narrow screen"):
        assert f'aria-label="What {name} adds"' in html
    assert 'aria-label="What town' not in html  # words have no curve
    assert "ROC curve, training rows" in html and "Precision–recall curve, training rows" in html


@pytest.mark.slow
def test_groups_stay_together_and_are_named(tmp_path: Path, capsys: Any) -> None:
    """Each person has four rows that say the same: without the groups the other rows tell the answer."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 4)
    y = np.where(rng.random(30) < 0.5, "ill", "well")[person]
    X = pd.DataFrame(rng.normal(size=(30, 6))[person] + 0.01 * rng.normal(size=(120, 6)), columns=[*"abcdef"])
    X.assign(label=y, person=[f"p{i}" for i in person]).to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "page.html"
    asked = ["report", str(tmp_path / "t.csv"), "--target", "label", "--groups", "person", "-o", str(page)]
    for model in ("plain", "calibrated"):
        assert cli.main([*asked, "--model", model]) == 0
        said = capsys.readouterr().out
        text = " ".join(Words(page.read_text("utf-8")).text.split())
        data = bayesnb.datasets.read_table(tmp_path / "t.csv", "label", drop=["person"])
        nb: Any = bayesnb.MixedNB().fit(data.X, data.y)
        if model == "calibrated":
            nb = bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()).fit(data.X, data.y, groups=person)
        loo = nb.loo(data.X, data.y, groups=person, prior=nb.model_.loo_prior)
        assert f"leave-one-out accuracy {loo.accuracy:.4f}, log loss {loo.log_loss:.4f}" in said
        assert "person: 30 groups of 4 rows, which are left out together" in said
        assert "Groups of rows30 groups of 4 rows, which are left out together" in text
        curves = bayesnb.roc_curves(nb, data.X, data.y, positive="well", groups=[f"p{i}" for i in person])
        assert f"ROC curve {curves.roc_auc.value:.3f}" in text
        cuts = bayesnb.threshold_table(data.y, np.exp(loo.log_proba[:, 1]), positive="well").shown()
        assert cuts["sensitivity"].iloc[3] in text
        assert "the other groups predict" in text and "from the rows of all other groups" in text
        assert "Rows are taken to be independent." not in text and "take rows as independent" in text
        alone = nb.loo(data.X, data.y, groups=np.arange(120))
        assert loo.accuracy < alone.accuracy - 0.1  # the other rows of a person tell the answer


def test_a_row_without_a_group_is_an_error_with_its_line(tmp_path: Path, capsys: Any) -> None:
    X, y = table()
    group = [f"g{i % 9}" for i in range(len(y))]
    group[7] = ""
    X.assign(label=y, town=group).to_csv(tmp_path / "t.csv", index=False)
    asked = [str(tmp_path / "t.csv"), "--target", "label"]
    for command in (["report", "-o", str(tmp_path / "p.html")], ["compare"], ["fit", "-o", str(tmp_path / "m")]):
        assert cli.main([command[0], *asked, "--groups", "town", *command[1:]]) == 2
        said = capsys.readouterr().err
        assert "line 9" in said and "needs the group" in said
    assert cli.main(["compare", *asked, "--groups", "twon"]) == 2
    assert "town" in capsys.readouterr().err


def test_features_of_arrays_may_be_named() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(2, size=(60, 4))
    page = bayesnb.report(
        bayesnb.MultinomialNB(),
        sparse.csr_array(counts),
        np.arange(60) % 2,
        others=None,
        feature_names=["free", *"bcd"],
    )
    text = Words(page.html).text
    assert "free = " in text and "feature 0" not in text


@pytest.mark.slow
def test_priors_and_evidence_are_shown_of_few_rows_alone() -> None:
    X, y = table()
    assert "From prior to posterior" in made().html and "log evidence" in made().html
    many = bayesnb.report(
        bayesnb.GaussianNB(), np.tile(X[["fever"]].fillna(37), (2, 1)), np.tile(y, 2), others=None
    ).html
    assert "From prior to posterior" not in many and "log evidence" not in many


@pytest.mark.parametrize(
    "nb", [bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()), bayesnb.DiscriminativeNB()], ids=str
)
@pytest.mark.slow
def test_rows_are_explained_with_the_odds_of_the_model(nb: Any) -> None:
    X, y = table()
    page = bayesnb.report(nb, X, y, others=None)
    text = Words(page.html).text
    assert text.count("log odds of") >= 4 and "What each number adds" in text
    assert ("calibration" in text) and ("Each feature has its own weight" in text) == isinstance(
        nb, bayesnb.DiscriminativeNB
    )


@pytest.mark.slow
def test_a_page_judges_rows_that_the_model_has_not_seen(tmp_path: Path, capsys: Any) -> None:
    X, y = table()
    frame = X.assign(label=y, patient=[f"p{i:03d}" for i in range(len(y))])
    frame[:80].to_csv(tmp_path / "old.csv", index=False)
    frame[80:].to_csv(tmp_path / "new.csv", index=False)
    page = tmp_path / "page.html"
    asked = ["report", str(tmp_path / "old.csv"), "--target", "label", "--model", "plain", "-o", str(page)]
    more = ["--test", str(tmp_path / "new.csv"), "--id", "patient", "--costs", "1,4", "--positive", "<ill>"]
    assert cli.main([*asked, *more]) == 0
    text = " ".join(Words(page.read_text("utf-8")).text.split())
    old = bayesnb.datasets.read_table(tmp_path / "old.csv", "label", drop=["patient"])
    nb = bayesnb.MixedNB().fit(old.X, old.y)
    new = old.contract.apply(frame[80:].astype(str).replace("nan", ""))
    p = nb.predict_proba(new)
    accuracy = (nb.classes_[p.argmax(1)] == y[80:]).mean()
    part = text.partition("Rows that the model has not seen")[2].partition("How well it predicts")[0]
    assert part.strip().startswith("40 rows") and f"accuracy {accuracy:.3f}" in part
    cuts = bayesnb.threshold_table(y[80:], p[:, 0], positive="<ill>", false_negative=4)
    assert cuts.shown()["sensitivity"].iloc[0] in part
    assert "patient p0" in text and "(line" in text  # rows are named
    assert "patient" not in {column.name for column in old.contract.used}
    frame[80:].assign(label="odd").to_csv(tmp_path / "new.csv", index=False)
    assert cli.main([*asked, *more]) == 2
    assert "labels that no training row has: odd" in capsys.readouterr().err
    assert cli.main([*asked, "--id", "nobody"]) == 2
    assert "there is no column 'nobody'" in capsys.readouterr().err
    assert cli.main([*asked, "--positive", "sick"]) == 2
    assert "--positive is 'sick'; the classes are <ill>, well" in capsys.readouterr().err


# --- what a model is compared with ----------------------------------------------------------------------------------


def test_every_estimator_is_tried_on_its_cells_alone() -> None:
    for nb in DEFAULTS:
        for kind in ("real", "counts", "amounts", "levels") if nb._cells.measure != COMPOSITE else ():
            assert (repr(nb) in map(repr, candidates(kind, 50, 4))) == (kind == nb._cells.kind), nb
    all_of_them = {repr(one) for one in candidates("real", 50, 4)}
    assert {"GaussianNB(variance='pooled')", "GaussianDA(covariance='shared')", "KernelNB()"} <= all_of_them
    assert all_of_them - {repr(one) for one in candidates("real", 6_000, 4)} == {"KernelNB()"}  # large tables
    wide = all_of_them - {repr(one) for one in candidates("real", 50, 61)}
    assert wide == {"GaussianDA()", "GaussianDA(covariance='shared')"}


def test_a_model_is_not_compared_with_itself_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """On zeros and ones a threshold at 0 changes nothing, and two levels are yes and no."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)).astype(float), np.arange(40) % 2
    nb = bayesnb.BernoulliNB(binarize=None).fit(X, y)
    own = nb.loo(X, y)
    found = compared(nb, X, y, own, "auto")
    assert found is not None and {*found.table.index} == {"this model", "OneDependenceNB()"}
    fit, fits = bayesnb.CategoricalNB.fit, []
    monkeypatch.setattr(bayesnb.CategoricalNB, "fit", lambda *args: fits.append(args) or fit(*args))
    named = compared(nb, X, y, own, {"mine": bayesnb.CategoricalNB()})
    assert named is not None and {*named.table.index} == {"this model", "mine"}
    assert len(fits) == 1


def test_the_model_inside_is_listed_once() -> None:
    """A calibrated or discriminative model is compared with the plain one, by one name."""
    X, y = table()
    nb = bayesnb.CalibratedClassifierLOO(bayesnb.MixedNB()).fit(X, y)
    comparison = compared(nb, X, y, nb.loo(X, y), "auto")
    assert comparison is not None
    names = [*comparison.table.index]
    assert "naive Bayes" in names and "numbers: KernelNB()" in names and "numbers: GaussianNB()" not in names


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well_in_a_browser(driver: Any, width: int, scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    made().save(path)
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(path.as_uri())
    assert driver.get_log("browser") == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    wide = """return [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, pre, svg')
        && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""
    assert driver.execute_script(wide) == []
    light = driver.execute_script(
        "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    paper, ink = (sum(map(int, re.findall(r"\d+", one)[:3])) for one in light)
    assert (paper > 700 and ink < 150) if scheme == "light" else (paper < 150 and ink > 600)
    small = """return [...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)
        .filter(h => h > 0 && h < 8).length"""
    assert driver.execute_script(small) == 0  # letters that can be read
    cut = """return [...document.querySelectorAll('svg')].flatMap(s => { const b = s.getBoundingClientRect();
        return [...s.querySelectorAll('text')].filter(t => { const r = t.getBoundingClientRect();
        return r.width && (r.right > b.right + 2 || r.left < b.left - 2) }).map(t => t.textContent) })"""
    assert driver.execute_script(cut) == []
    svg = driver.execute_script("return getComputedStyle(document.querySelector('svg')).color")
    assert svg == light[1]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media | {"media": "print"})  # on paper dark on white
    found = driver.execute_script("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    assert found == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


@pytest.mark.parametrize("is_fitted", [pytest.param(True, marks=pytest.mark.slow), False])
def test_of_a_pipeline_the_last_step_is_reported_with_words_as_features(is_fitted: bool) -> None:
    texts = [
        "win money now",
        "money for free",
        "free cash win",
        "lunch at noon",
        "notes of the lunch",
        "a lunch now",
    ] * 3
    y = np.array([1, 1, 1, 0, 0, 0] * 3)
    weight = np.arange(18) % 3 + 1
    pipeline = make_pipeline(CountVectorizer(), bayesnb.MultinomialNB())
    fitted = clone(pipeline).fit(texts, y, multinomialnb__sample_weight=weight)
    page = bayesnb.report(
        fitted if is_fitted else pipeline, texts, y, sample_weight=weight, others=None, test=(texts[:6], y[:6])
    )
    words = fitted[0].get_feature_names_out()
    inner = bayesnb.report(
        fitted[-1], fitted[0].transform(texts), y, sample_weight=weight, others=None, feature_names=words
    )
    assert (page.accuracy, page.log_loss) == (inner.accuracy, inner.log_loss)
    assert "money" in Words(page.html).text
    assert any("steps of the pipeline" in warning for warning in page.warnings)
    with pytest.raises(TypeError, match="report"):
        bayesnb.report(make_pipeline(CountVectorizer(), LogisticRegression()), texts, y)
