"""Configuration of the documentation, built by `make docs`."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The checkout, also where the package is not installed.
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import run as examples  # noqa: E402
from sphinx.util.logging import getLogger  # noqa: E402

import linforest_precond  # noqa: E402

project = "linforest_precond"
author = "the linforest_precond developers"
copyright = author
version = release = linforest_precond.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "index"
exclude_patterns = ["**.ipynb_checkpoints"]
templates_path = ["_templates"]
default_role = "py:obj"

# Headings of every level are link targets; no dollar math, so that no page loads MathJax.
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

# Notebooks are executed, each in a folder of its own; unchanged ones come from the cache in build/.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks")
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
# Notes on compilation name folders of this machine.
nb_output_stderr = "remove"
highlight_language = "none"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "linforest_precond"
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "header_links_before_dropdown": 5,  # the sections of index.md: no menu for the rest
    "navbar_align": "left",
    "navigation_with_keys": False,
    # Tables of numbers take the whole width.
    "secondary_sidebar_items": {"**": ["page-toc"], "performance": [], "solve_times": [], "iterations": []},
    "show_prev_next": True,
}
# Without it, the theme's script logs an error at a first visit.
html_context = {"default_mode": "auto"}
# Pages outside of the sections have no pages beside them to list.
html_sidebars = {"index": [], "search": [], "genindex": []}


def setup(app):
    copy_notebooks()
    write_gallery()
    app.connect("source-read", adapt_links)
    app.connect("html-page-context", refuse_own_path)


def copy_notebooks():
    """Sphinx reads files inside docs/ only: copy the notebooks to docs/notebooks, which git ignores."""
    target = ROOT / "docs" / "notebooks"
    target.mkdir(exist_ok=True)
    for old in target.glob("*.ipynb"):
        old.unlink()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy2(notebook, target)


def write_gallery():
    """A page in docs/gallery, which git ignores, for each program of examples/gallery."""
    folder = ROOT / "docs" / "gallery"
    folder.mkdir(exist_ok=True)
    for program in examples.programs():
        (folder / f"{program.stem}.md").write_text(gallery_page(program), encoding="utf-8")


def gallery_page(program):
    """The text above a program as title and introduction, then the program, then what it printed."""
    _, text, code = program.read_text(encoding="utf-8").split('"""', 2)
    title, _, introduction = text.partition("\n")
    if examples.record_of(program).exists():
        _, where, output = examples.recorded(program)
        shown = f"It prints, on {where}:\n\n```text\n{output}```\n"
    else:
        shown = "Its output has not been recorded.\n"
    return f"# {title.rstrip('.')}\n{introduction}\n```python{code}```\n\n{shown}"


def adapt_links(app, docname, source):
    """Pages link to the repository's files: notebooks and programs are pages, benchmarks are not."""
    text = re.sub(r"\]\(\.\./((?:\.\./)*notebooks/)", r"](\1", source[0])
    text = re.sub(r"\]\((?:\.\./)+examples/(gallery/\w+)\.py\)", r"](/\1.md)", text)
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)+benchmarks[^)]*\)", r"\1", text)


def refuse_own_path(app, page, template, context, doctree):
    """Outputs of notebooks may not show where this checkout is."""
    if str(ROOT) in context.get("body", ""):
        getLogger(__name__).warning("%s shows the folder %s", page, ROOT)
