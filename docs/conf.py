"""How the documentation is built: `python -m sphinx -W --keep-going -b html docs docs/_build/html`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import bayesnb  # noqa: E402

project = "bayesnb"
author = "bayesnb developers"
copyright = author
release = bayesnb.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_nb", "bayesnb_docs"]
exclude_patterns = [
    "_build",
    "_ext",
    "**.ipynb_checkpoints",
    "theory/lectures",
]  # lectures stand at the head of their families' pages

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

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "bayesnb"
html_copy_source = False
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["bayesnb.css"]
html_extra_path = [path.name for path in HERE.glob("*.html")]
