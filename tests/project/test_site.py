"""The site: five sections hold all pages, tasks are found by their words, and Performance is up to date."""

import contextlib
import io
import re
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SECTIONS = ["Start", "Guide", "Examples", "Measurements", "Reference"]
# Of MyST and of reStructuredText: options and entries, indented or not.
TOCTREES = (
    re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL),
    re.compile(r"^\.\. toctree::\n((?:   .*\n|\n)*)", re.MULTILINE),
)
ENTRY = re.compile(r"(?:(?P<title>.+) <)?(?P<name>[^<>]+?)>?$")
# What people search for, and the page whose title or first paragraph has it.
SEARCHED = {
    "multiple right-hand sides": "guide/many_right_hand_sides.md",
    "time stepping": "guide/time_stepping.md",
    "Newton": "guide/newton.md",
    "Jacobian": "guide/newton.md",
    "matrix-free": "guide/matrix_free.md",
    "LinearOperator": "guide/matrix_free.md",
    "eigenvalues": "guide/eigenvalues.md",
    "lobpcg": "guide/eigenvalues.md",
    "singular": "guide/singular_systems.md",
    "Neumann": "guide/singular_systems.md",
    "elasticity": "guide/elasticity.md",
    "rigid body modes": "guide/elasticity.md",
    "Stokes": "guide/saddle_points.md",
    "saddle point": "guide/saddle_points.md",
    "timeout": "guide/limits.md",
    "memory": "guide/limits.md",
    "several GPUs": "guide/distributed.md",
    "MPI": "guide/distributed.md",
}

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="tests run outside a source tree")


def source_of(page):
    """The text of a page without its ending; None where it is no text."""
    for path in (DOCS / f"{page}.md", DOCS / f"{page}.rst"):
        if path.exists():
            return path.read_text(encoding="utf-8")
    return None


def entries(page):
    """(title, page) of all toctrees of a page; the title is None where the page's own is shown."""
    source = source_of(page)
    lines = [
        line.strip()
        for pattern in TOCTREES
        for block in pattern.findall(source or "")
        for line in block.splitlines()
    ]
    for line in lines:
        if line and not line.startswith(":"):
            found = ENTRY.match(line)
            yield found["title"], normalized(PurePosixPath(page).parent / found["name"])


def normalized(path):
    parts = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def below(page):
    """A page and all pages below it."""
    return [page, *(each for _, child in entries(page) for each in below(child))]


def all_pages():
    texts = [path for ending in ("*.md", "*.rst") for path in DOCS.rglob(ending)]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in texts}
    pages = {
        page
        for page in pages
        if not page.startswith(("api/generated/", "_templates/", "notebooks/", "gallery/"))
    }
    programs = (ROOT / "examples" / "gallery").glob("*.py")
    pages |= {f"gallery/{path.stem}" for path in programs if path.stem != "comparison"}
    return pages | {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_the_top_navigation_has_five_sections():
    assert [title for title, _ in entries("index")] == SECTIONS
    shown = re.search(r'"header_links_before_dropdown": (\d+)', (DOCS / "conf.py").read_text())
    assert int(shown[1]) >= len(SECTIONS), "the rest would be in a menu"


def test_the_api_is_one_click_away():
    sections = dict(entries("index"))
    assert sections["Reference"] == "api/index"
    assert {"api/preconditioners", "api/solvers"} <= {page for _, page in entries("api/index")}


def test_every_page_is_in_one_section():
    found = below("index")
    assert sorted(found) == sorted(set(found)), "a page that is in two places"
    assert set(found) == all_pages()


def test_each_section_has_pages_for_its_sidebar():
    for title, page in entries("index"):
        assert list(entries(page)), title


@pytest.mark.parametrize("words, page", SEARCHED.items())
def test_tasks_are_found_by_their_words(words, page):
    title, first, *_ = (DOCS / page).read_text(encoding="utf-8").split("\n\n")
    assert words.lower() in re.sub(r"[\s`]+", " ", f"{title} {first}").lower()
    assert PurePosixPath(page).name in source_of("guide/index")


@pytest.mark.parametrize("page", sorted(set(SEARCHED.values()) - {"guide/distributed.md"}))
def test_pages_of_tasks_are_short_and_have_code(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count("\n") <= 90 and "```python\n" in text


def test_performance_quotes_the_pages_of_measurements(bench):
    page = bench("pages.speed").page()
    assert source_of("performance") == page, "run python -m benchmarks.pages.speed --write"


def test_performance_is_short():
    text = source_of("performance")
    assert len(re.findall(r"^\| -", text, re.MULTILINE)) <= 10
    assert text.count("\n") <= 130


def test_no_page_has_targets_or_missed_goals():
    """They are in benchmarks/PERFORMANCE.md."""
    for page in sorted(all_pages()):
        assert not re.search(r"\btarget [≤≥\d]|\*\*not met", source_of(page) or ""), page


def test_lines_of_the_cheat_sheet_run():
    text = source_of("cheat_sheet")
    setup = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    lines = re.findall(r"^\| .* \| `(.*)` \|$", text, re.MULTILINE)
    assert 25 <= len(lines) <= 40
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        exec(setup, namespace)
        for line in lines:
            exec(compile(line, f"cheat sheet: {line}", "exec"), namespace)
            assert not namespace.get("info"), line


def test_wide_tables_and_code_scroll_in_their_boxes():
    rules = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    for box in (".pst-scrollable-table-container", ".bd-article pre", "div.cell_output", "div.scroll"):
        selectors = re.search(r"([^{}]*" + re.escape(box) + r"[^{}]*)\{([^}]*)\}", rules)
        assert "overflow-x: auto" in selectors[2], box
    assert '"site.css"' in (DOCS / "conf.py").read_text()
