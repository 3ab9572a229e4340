"""The paper: its figures taken from the pages of docs/, and its PDF.

    python paper/build.py              # fills the tables of paper.md from the pages, then writes paper/paper.pdf
    python paper/build.py --figures    # draws its figure first
    python paper/build.py --png        # and one picture a page beside it

It needs `pip install '.[paper]'`: pandoc turns Markdown and BibTeX into Typst, and Typst sets the pages.
"""

import argparse
import re
import runpy
from pathlib import Path

FOLDER = Path(__file__).parent
DOCS = FOLDER.parent / "docs"
PAPER = FOLDER / "paper.md"
LEFT_OUT = "leave-one-out − cross-validation, "
ONE = "one-dependence − logistic regression"

# Cells of the first columns, and the start of the row of docs/calibration.md whose next cell is copied
STUDY = [
    ((LEFT_OUT + "same model", "kept aside (12)"), "| kept aside (12) | loo, against CV around bayesnb |"),
    ((LEFT_OUT + "same model", "all (36)"), "| all (36) | loo, against CV around bayesnb |"),
    ((LEFT_OUT + "any model", "kept aside (12)"), "| kept aside (12) | loo, against CV around either |"),
    ((ONE, "kept aside (12)"), "| kept aside (12) | onedep_loo − logistic |"),
    ((ONE, "all (34)"), "| all (34) | onedep_loo − logistic |"),
]
# The work, and how rows of docs/benchmarks.md lead to it: the first row of that start, then rows below it
SPEED = [
    ("GaussianNB fit, 500,000 × 100, 10 classes", ["GaussianNB fit, 500,000 × 100, 10 classes"]),
    ("the same, predict_log_proba, predictive", ["GaussianNB fit, 500,000", "… predict_log_proba, predictive"]),
    ("the same, predict_log_proba, plug-in", ["GaussianNB fit, 500,000", "… predict_log_proba, plug-in"]),
    ("CategoricalNB fit, 500,000 × 50, 12 levels", ["CategoricalNB fit, 500,000 × 50, 12 levels"]),
    ("BernoulliNB fit, 200,000 × 500", ["BernoulliNB fit, 200,000 × 500"]),
    ("MultinomialNB fit, 200,000 × 50,000, sparse", ["MultinomialNB fit, 200,000 × 50,000"]),
    ("the same, predict_log_proba, plug-in", ["MultinomialNB fit, 200,000", "… predict_log_proba, plug-in"]),
    ("GaussianNB fit and predict, iris", ["GaussianNB fit + predict, iris, warm"]),
]


def tables(trust: str, benchmarks: str) -> dict[str, str]:
    """The two tables of the paper from the text of two pages."""
    study = ["| difference of log loss | tables | mean and interval |", f"|:{'-' * 46}|:{'-' * 18}|:{'-' * 28}|"]
    for (label, group), start in STUDY:
        cell = trust.split(f"\n{start} ", 1)[1].split(" |", 1)[0]
        study.append(f"| {label} | {group} | {cell} |")
    speed = ["| work | ratio |", f"|:{'-' * 62}|:{'-' * 8}|"]
    for label, way in SPEED:
        rest = benchmarks
        for start in way:
            rest = rest.split(f"\n| {start}", 1)[1]
        ratio = rest.split("\n", 1)[0].split(" | ")[3]
        speed.append(f"| {label} | {ratio} |")
    captions = "\n\n: The study on 36 tables.", "\n\n: Time of scikit-learn over time of bayesnb."
    return {"study": "\n".join(study) + captions[0], "speed": "\n".join(speed) + captions[1]}


def fill(paper: str) -> str:
    """The paper with its tables made anew from the pages."""
    made = tables((DOCS / "calibration.md").read_text("utf-8"), (DOCS / "benchmarks.md").read_text("utf-8"))
    for name, table in made.items():
        head, tail = f"<!-- {name}: made by paper/build.py -->\n", f"\n<!-- end of {name} -->"
        before, rest = paper.split(head)
        paper = f"{before}{head}\n{table}\n{tail}{rest.split(tail)[1]}"
    return paper


def build(written: Path = FOLDER / "paper.pdf", png: bool = False) -> Path:
    """Write the PDF, and on request one picture a page beside it."""
    import pypandoc
    import typst

    text = PAPER.read_text("utf-8")
    settings = re.sub(r"^authors:.*?(?=^date)", "author: bayesnb developers\n", text, flags=re.MULTILINE | re.DOTALL)
    arguments = ["--citeproc", f"--bibliography={FOLDER / 'paper.bib'}", "--standalone", "-V", "papersize=a4"]
    arguments += ["-V", "fontsize=10pt"]
    source = FOLDER / "paper.typ"
    source.write_text(pypandoc.convert_text(settings, "typst", format="markdown", extra_args=arguments), "utf-8")
    try:
        typst.compile(source, output=written, root=FOLDER.parent)
        if png:
            typst.compile(source, output=written.with_name("paper-{p}.png"), root=FOLDER.parent, format="png", ppi=80)
    finally:
        source.unlink()
    return written


def main() -> None:
    """Fill the tables, write the PDF, print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", action="store_true", help="draw the figure anew")
    parser.add_argument("--png", action="store_true", help="one picture a page, to look at")
    given = parser.parse_args()
    if given.figures:
        runpy.run_path(str(DOCS / "figures" / "how_sure.py"))["main"](str(DOCS / "figures" / "how_sure.png"))
    PAPER.write_text(fill(PAPER.read_text("utf-8")), encoding="utf-8")
    print(build(png=given.png))


if __name__ == "__main__":
    main()
