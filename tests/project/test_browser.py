"""The site in a browser, on a phone and on a desk: nothing is cut, hidden or hard to read.

Needs the built site (`make docs`) and Chromium: Debian's package `chromium`.
"""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from browser import Browser, executable

SITE = Path(__file__).resolve().parents[2] / "build" / "docs"
PHONE, DESK = 390, 1280
SECTIONS = ["Start", "Guide", "Examples", "Measurements", "Reference"]
# One page of each kind.
KINDS = (
    "index",
    "getting_started",
    "cheat_sheet",
    "guide/index",
    "guide/solvers",
    "guide/time_stepping",
    "examples",
    "gallery/skfem_poisson",
    "notebooks/5_multigrid",
    "performance",
    "solve_times",
    "papers/graphs",
    "api/index",
    "api/preconditioners",
    "api/generated/linforest_precond.multilevel",
)
# Text with less contrast to its background than 4.5 : 1 (WCAG 2, level AA), as "text (ratio)".
LOW_CONTRAST = """(() => {
  const parts = (color) => {
    const found = color.match(/[\\d.]+/g).map(Number);
    if (color.startsWith("color(srgb")) found.splice(0, 3, ...found.slice(0, 3).map((x) => 255 * x));
    return found.length > 3 ? found : [...found, 1];
  };
  const over = (top, below) => top.slice(0, 3).map((x, k) => top[3] * x + (1 - top[3]) * below[k]);
  const background = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const color = parts(getComputedStyle(each).backgroundColor);
      layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const luminance = (color) => {
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((x) => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    if (element.closest("svg, script, style, noscript")) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const behind = background(element);
    const front = over(parts(getComputedStyle(element).color), behind);
    const [light, dark] = [luminance(front), luminance(behind)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const name = `${element.tagName}.${element.className} "${text.slice(0, 30)}"`;
    if (ratio < 4.49) low.add(`${name} (${ratio.toFixed(2)})`);
  }
  return [...low];
})()"""
# The largest width that is scrolled to, and what reaches out of the window.
TOO_WIDE = """(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const out = (each) => each.getBoundingClientRect().right > width + 1;
  const found = [...document.querySelectorAll("body *")].filter(out).slice(0, 5);
  return [...found.map((each) => `${each.tagName}.${each.className}`), "scrolls"];
})()"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(executable() is None, reason="no browser: install Chromium, or name one by CHROMIUM"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: run make docs"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    """The site at a port of this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


def all_pages():
    return sorted(
        path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts
    )


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_no_page_scrolls_sideways_or_has_an_error(browser, address, width):
    browser.resize(width)
    bad = {}
    for page in all_pages():
        found = browser.open(f"{address}/{page}") + browser.evaluate(TOO_WIDE)
        if found:
            bad[page] = found
    assert not bad


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_text_has_contrast(browser, address, width, theme):
    browser.resize(width)
    bad = {}
    for page in KINDS:
        browser.open(f"{address}/{page}.html")
        browser.evaluate(f"document.documentElement.dataset.theme = {theme!r}")
        if found := browser.evaluate(LOW_CONTRAST):
            bad[page] = found
    assert not bad


# Sections shown in a part of the page, and whether all of them are inside of the window.
SHOWN = """(() => {
  const links = [...document.querySelectorAll("%s .nav-link")].filter((each) => each.checkVisibility());
  const inside = links.map((each) => each.getBoundingClientRect())
    .every((box) => box.left >= 0 && box.right <= innerWidth && box.width > 0);
  return [links.map((each) => each.textContent.trim()), inside];
})()"""


@pytest.mark.parametrize("page", ["index", "guide/solvers"])
def test_the_sections_are_in_the_header_of_a_desk(browser, address, page):
    browser.resize(DESK)
    browser.open(f"{address}/{page}.html")
    names, inside = browser.evaluate(SHOWN % ".bd-header .bd-navbar-elements")
    assert names == SECTIONS and inside


@pytest.mark.parametrize("page", ["index", "guide/solvers"])
def test_the_menu_of_a_phone_opens_inside_the_window(browser, address, page):
    browser.resize(PHONE)
    browser.open(f"{address}/{page}.html")
    browser.evaluate("document.querySelector('button.primary-toggle').click()")
    menu = "dialog#pst-primary-sidebar-modal"
    assert browser.wait_for(f"document.querySelector('{menu}')?.open")
    # The menu slides in.
    inside = f"(() => {{ const box = document.querySelector('{menu}').getBoundingClientRect(); "
    inside += "return box.left >= 0 && box.right <= innerWidth; })()"
    assert browser.wait_for(inside)
    names, all_inside = browser.evaluate(SHOWN % menu)
    assert names[: len(SECTIONS)] == SECTIONS and all_inside


def test_the_title_is_whole_on_a_phone(browser, address):
    browser.resize(PHONE)
    browser.open(f"{address}/index.html")
    box = "document.querySelector('.navbar-brand').getBoundingClientRect()"
    assert browser.evaluate(f"{box}.left >= 0 && {box}.right <= innerWidth")
    assert browser.evaluate("document.querySelector('.navbar-brand').innerText.trim()") == "linforest_precond"


@pytest.mark.parametrize(
    "words, page",
    {
        "multiple right hand sides": "guide/many_right_hand_sides.html",
        "time stepping": "guide/time_stepping.html",
        "timeout": "guide/limits.html",
        "elasticity": "guide/elasticity.html",
        "singular": "guide/singular_systems.html",
        "newton": "guide/newton.html",
    }.items(),
)
def test_search_finds_the_guides(browser, address, words, page):
    browser.resize(DESK)
    assert not browser.open(f"{address}/search.html?q={words.replace(' ', '+')}")
    assert browser.wait_for(f"document.querySelector('#search-results a[href*=\"{page}\"]') !== null")


def test_tables_of_functions_fit_a_phone(browser, address):
    browser.resize(PHONE)
    browser.open(f"{address}/api/solvers.html")
    boxes = ".map((each) => each.getBoundingClientRect())"
    cells = f"[...document.querySelectorAll('table.autosummary td')]{boxes}"
    assert browser.evaluate(f"{cells}.length") >= 20
    assert browser.evaluate(f"{cells}.every((box) => box.right <= innerWidth && box.width > 200)")


@pytest.mark.parametrize("page", ["performance", "solve_times", "papers/graphs"])
def test_readers_are_not_told_how_pages_are_generated(browser, address, page):
    browser.open(f"{address}/{page}.html")
    assert "do not edit" not in browser.evaluate("document.querySelector('.bd-article').innerText")


def test_performance_has_at_most_three_screens(browser, address):
    browser.resize(DESK, 1024)
    browser.open(f"{address}/performance.html")
    height = browser.evaluate("document.querySelector('.bd-article').getBoundingClientRect().height")
    assert height <= 3 * 1024
