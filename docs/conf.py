"""How the site is built: Sphinx, MyST, furo; nothing on it is loaded from elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from socsim import __version__

project = "socsim"
author = "The socsim contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "socsim_reference"]
exclude_patterns = ["_build", "_ext", "notebooks"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.strikethrough"]
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"socsim {__version__}"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["socsim.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#3F4CC0", "color-brand-content": "#3F4CC0"},
    "dark_css_variables": {"color-brand-primary": "#A9B1FF", "color-brand-content": "#A9B1FF"},
    "footer_icons": [],
}
