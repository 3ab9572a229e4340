"""How the documentation is built: `python -m sphinx -W --keep-going -b html docs docs/_build/html`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from publishing import repository  # noqa: E402

import bayesnb  # noqa: E402

project = "bayesnb"
author = "bayesnb developers"
copyright = author
release = bayesnb.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_nb", "sphinx_copybutton"]
extensions += ["bayesnb_docs", "publishing", "narrow"]  # of docs/_ext
exclude_patterns = ["_build", "_ext", "**.ipynb_checkpoints", "theory/lectures"]  # lectures head their families' pages

smartquotes = False  # κ' is a symbol
maximum_signature_line_length = 88
autodoc_default_options = {"members": True, "member-order": "bysource"}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"

nb_execution_mode = "off"  # a test runs the notebooks; they are shown as they were committed
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a lecture begins below the title of its page
myst_url_schemes = {"http": None, "https": None, "mailto": None, "page": {"url": "{{path}}"}}
myst_url_schemes["place"] = {"url": "{{path}}#{{fragment}}"}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"bayesnb {release}"
html_theme_options = {"top_of_page_buttons": ["edit"]}
if repository():
    html_theme_options["source_repository"] = repository()
html_copy_source = False
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["bayesnb.css", "figures.css"]
html_extra_path = [path.name for path in HERE.glob("*.html")]

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied are the commands, without prompts and results
copybutton_prompt_is_regexp = True

# The order of the pages. Pages hold no toctree: a place that shows them unbuilt would print it.
navigation = {
    "index": {
        "Use it": [
            "start",
            "guide/which_variant",
            "guide/which_prior",
            "guide/which_estimate",
            "guide/not_sure",
            "guide/few_positives",
            "guide/sharper",
            "guide/extreme_probabilities",
            "guide/cut_off",
            "explain",
            "guide/messy_tables",
            "guide/missing_cells",
            "scale",
            "guide/drift",
            "from_scikit_learn",
            "guide/from_numpyro",
            "from_others",
            "gallery",
            "notebooks",
            "api/index",
        ],
        "Teach with it": ["teaching/index", "smoothing_in_five_minutes", "theory/index", "handout", "glossary"],
        "Extend it": ["add_a_family", "testing", "goals", "project/CONTRIBUTING", "project/CHANGELOG"],
        "Trust it": ["check", "calibration", "robustness", "sources", "comparison", "benchmarks", "cite"],
    },
    "api/index": {
        "": [
            "api/estimators",
            "api/families",
            "api/analysis",
            "api/results",
            "api/scale",
            "api/plots",
            "api/drop_in",
            "api/datasets",
            "api/command_line",
        ]
    },
    "notebooks": {"": ["notebooks/*.ipynb"]},
    "teaching/index": {"": ["teaching/exercises"]},
    "theory/index": {"": ["theory/*.rst"]},
}
