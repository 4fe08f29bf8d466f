"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from site_pages import docstring_as_rst, without_addresses, write_pages  # noqa: E402

import packenv  # noqa: E402

project, author, copyright = "packenv", "the packenv developers", "the packenv developers, Apache-2.0"
version = release = packenv.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click", "sphinx_copybutton"]
exclude_patterns = ["_build"]
nitpicky = False
autodoc_typehints = "none"  # signatures have them, in the short form of the source
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests run the notebooks and compare; the site shows what is stored
copybutton_prompt_text = "$ "
highlight_language = "none"  # outputs have no grammar; what has one names it
smartquotes = False  # "--" is an option

html_theme = "furo"
html_title = f"packenv {version}"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False

write_pages(HERE)


def setup(app: object) -> None:
    """Register what turns our docstrings into reStructuredText, and what takes false links away."""
    app.connect("autodoc-process-docstring", docstring_as_rst)  # type: ignore[attr-defined]
    app.connect("doctree-read", without_addresses)  # type: ignore[attr-defined]
