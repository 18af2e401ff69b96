"""The site: ``pip install '.[docs]' && sphinx-build -W --keep-going -b html docs build/site``.

The chapters are the Markdown files of this folder, which read as well where nothing builds them. What else there is,
the API reference and the gallery of examples, is made in ``generated/``, which git ignores. Nothing needs a network,
neither to build the site nor to read it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.docscrape_sphinx import SphinxDocString

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import reference  # noqa: E402

import jcmspl  # noqa: E402

project = "jcmspl"
copyright = "the authors of jcmspl, MIT license"
version = release = jcmspl.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# Pages of how long examples took load scripts from elsewhere.
exclude_patterns = ["generated/backreferences", "generated/gallery/*.ipynb", "**sg_execution_times.rst"]
highlight_language = "none"  # a block without a language is a formula or a shell session
smartquotes = False
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = False  # reference.py writes the pages
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings tell types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "doc_module": "jcmspl",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "thumbnail_size": (960, 640),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e6,  # durations of examples are not shown
    "copyfile_regex": r"^$",
}

# Pages of wide tables, or of code: they have no contents at their right.
WIDE = ["methods", "tuning", "performance", "generated/gallery/index"]
WIDE += [f"generated/gallery/{file.stem}" for file in (ROOT / "examples").glob("*.py")]
html_theme = "pydata_sphinx_theme"
html_title = f"jcmspl {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "jcmspl", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
#: Pages from above this folder that are chapters, too.
FROM_ABOVE = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changes"}


def for_the_site(text: str, folder: Path) -> str:
    """Return Markdown whose links, which are right in the repository, are right on the site as well.

    Links that show the name of a file show the title of that page. Files that are no pages are named, and not linked.
    """

    def linked(match: re.Match[str]) -> str:
        shown, path, anchor = match[1], match[2], match[3] or ""
        target = (folder / path).resolve()
        if target.suffix == ".md" and target.parent == DOCS:
            page = target.relative_to(DOCS)
        elif target.parent == ROOT and target.name in FROM_ABOVE:
            page = Path("generated", f"{FROM_ABOVE[target.name]}.md")
        elif target.suffix in (".svg", ".png"):
            return match[0]
        else:
            return shown if shown.startswith("`") else f"`{shown}`"
        named_by_file = shown.strip("`").endswith(".md")
        return f"[{'' if named_by_file else shown}](/{page.as_posix()}{anchor})"

    return _LINK.sub(linked, text)


def _write_pages(app: object) -> None:
    reference.write(DOCS / "generated" / "api")
    for source, page in FROM_ABOVE.items():
        text = for_the_site((ROOT / source).read_text(encoding="utf-8"), ROOT)
        file = DOCS / "generated" / f"{page}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    examples = {file.stem for file in (ROOT / "examples").glob("*.py")}
    for file in (DOCS / "generated" / "gallery").glob("plot_*.rst"):
        if file.stem not in examples:
            file.unlink()


def _read_chapter(app: object, docname: str, source: list[str]) -> None:
    if (DOCS / f"{docname}.md").exists() and "/" not in docname:
        source[0] = for_the_site(source[0], DOCS)


# numpydoc shows what an attribute's property says in place of what the class says of it; only where that is nothing.
_process_param = SphinxDocString._process_param
SphinxDocString._process_param = lambda self, name, text, like_autosummary: _process_param(
    self, name, text, like_autosummary and not text
)

_PROPERTY = re.compile(r":obj:`(\w+) <[\w.]*\.\1>`")
_LETTER = re.compile(r"^( *)([A-Z]\. )")
_CODE_OR_NAME = re.compile(r"`[^`]+`|(?<![\w.\\*<])([A-Za-z]\w*_)(?!\w)")


def _names_as_code(app, what, name, thing, options, lines):
    """Show ``classes_`` and its kin as code: to reStructuredText they would be links, and to nothing.

    numpydoc links attributes that are properties; they are told of where the link is, and have no other place. And a
    matrix at the start of a line is no item of a list.
    """
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = _PROPERTY.sub(r"**\1**", _LETTER.sub(r"\1\\\2", line))
            lines[number] = _CODE_OR_NAME.sub(lambda match: f"``{match[1]}``" if match[1] else match[0], line)


def _show_formula(translator, node):
    """Write a formula as MathML, which browsers draw without a script from elsewhere."""
    formula = tex2mathml(node.astext())
    if node.tagname == "math_block":
        formula = '<div class="formula">' + formula.replace("<math ", '<math display="block" ', 1) + "</div>"
    translator.body.append(formula)
    raise SkipNode


def setup(app):
    """Tell Sphinx of all this."""
    app.connect("builder-inited", _write_pages, priority=400)
    app.connect("source-read", _read_chapter)
    app.connect("autodoc-process-docstring", _names_as_code, priority=900)  # after numpydoc, which has 500
    app.add_html_math_renderer("mathml", (_show_formula, None), (_show_formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
