"""The HTML report of a study: well formed, self-contained, with the numbers of the study."""

import base64
import csv
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
import study_cases
from study_cases import case, not_done, standin, study

from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.forests import FORESTS
from linforest_precond.study.number_formats import count, coverage, seconds, small, spread

VOID = {"br", "img", "meta"}


class Page(HTMLParser):
    """The elements of a page: where they open and close, their attributes and their text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.elements, self.faults = [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"<{element['tag']}> is never closed" for element in self.stack]

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", "parents": [e["tag"] for e in self.stack], **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1]["tag"] != tag:
            self.faults.append(f"</{tag}> closes {self.stack[-1]['tag'] if self.stack else 'nothing'}")
        else:
            self.stack.pop()

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, tag, **attributes):
        return [e for e in self.elements if e["tag"] == tag and attributes.items() <= e.items()]

    def text_of(self, identifier):
        (section,) = self.all("section", id=identifier)
        return section["text"]

    def rows(self, caption):
        """The rows of the table with that caption: lists of texts."""
        places = [
            place for place, e in enumerate(self.elements) if e["tag"] == "table" and caption in e["text"]
        ]
        assert len(places) == 1, f"{len(places)} tables are called {caption}"
        rows = []
        for element in self.elements[places[0] + 1 :]:
            if element["tag"] == "table":
                break
            if element["tag"] == "tr":
                rows.append([])
            elif element["tag"] in ("td", "th"):
                rows[-1].append(element["text"])
        return rows


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Writes a study and returns the page; needs Matplotlib."""
    pytest.importorskip("matplotlib")
    from linforest_precond.study.report import write_report

    def write(study):
        path = write_report(FORESTS, study, tmp_path_factory.mktemp("report"))
        return path, path.read_text(encoding="utf-8")

    return write


@pytest.fixture
def words(report, without_pictures):
    """Writes a study and returns the page, for tests that read its words only."""
    return report


@pytest.fixture(scope="module")
def mixed(report):
    """The page of a study with every kind of case."""
    path, text = report(study())
    return path, text, Page(text)


def test_page_is_well_formed_and_has_its_parts(mixed):
    _, text, page = mixed
    assert page.faults == []
    assert text.startswith("<!doctype html>")
    assert [h["text"] for h in page.all("h1")] == ["Linear forest study"]
    anchors = [section["id"] for section in page.all("section") if "id" in section]
    assert anchors == ["matrices", "coverage", "convergence", "performance", "problems", "method"]
    (contents,) = page.all("nav")
    assert {f"#{anchor}" for anchor in anchors} == {a["href"] for a in page.all("a") if "nav" in a["parents"]}
    assert "10.1145/3545008.3545035" in page.text_of("method")


def test_page_is_self_contained(mixed):
    path, text, page = mixed
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    assert all(img["src"].startswith("data:image/svg+xml;base64,") for img in page.all("img"))
    hrefs = {a["href"] for a in page.all("a")}
    assert {href for href in hrefs if ":" in href} == {"https://doi.org/10.1145/3545008.3545035"}
    local = {href for href in hrefs if not href.startswith(("#", "https:"))}
    assert local == {file.name for file in path.parent.glob("*.csv")} and len(local) == 11
    styles = "".join(style["text"] for style in page.all("style"))
    assert styles and "url(" not in styles and "@import" not in styles


def test_study_json_is_linked_where_it_exists(tmp_path, without_pictures):
    pytest.importorskip("matplotlib")
    from linforest_precond.study.report import write_report

    (tmp_path / "study.json").write_text("{}")
    page = Page(write_report(FORESTS, study([case()]), tmp_path).read_text(encoding="utf-8"))
    assert "study.json" in {a["href"] for a in page.all("a")}
    assert not list(tmp_path.glob("*.part"))


def test_pictures_have_alternative_texts_and_contain_svg(mixed):
    *_, page = mixed
    pictures = page.all("img")
    assert len(pictures) == 4 + 6  # a panel for each matrix that was solved, figures 3, 5 and 6
    for picture in pictures:
        svg = base64.b64decode(picture["src"].partition(",")[2])
        assert svg.startswith(b"<svg") and svg.rstrip().endswith(b"</svg>")
        assert len(picture["alt"]) > 30
    assert "AlgTriBlock+ converged after 84.5" in pictures[0]["alt"]


def test_header_shows_mode_device_machine_versions_and_dates(mixed):
    (lead,) = mixed[2].all("p", **{"class": "lead"})
    for words in (
        "quick study on the CPU", "4 of 6 cases", "1 of them a stand-in", "A Processor 9000", "8 cores",
        "31 GiB", "numpy 2.1.0", "Commit 0123456789abcdef", "2026-01-05 10:00 UTC", "2026-01-05 10:12 UTC",
    ):  # fmt: skip
        assert words in lead["text"]
    assert "cupy" not in lead["text"]


def test_every_case_is_named(mixed):
    *_, page = mixed
    named = page.text_of("matrices")
    assert all(case["name"] in named for case in study()["cases"])


def test_standins_are_marked_everywhere(mixed):
    *_, page = mixed
    names = [span["text"] for span in page.all("span") if span.get("class") == "case"]
    here = [name for name in names if name.startswith("atmosmodm")]
    assert len(here) == 9  # tables 3, 4 and 5, charges, sums, the panel, the table of solves, two of times
    assert all("stand-in" in name and "reduced" in name for name in here)
    assert all("atmosmodm (stand-in)" in img["alt"] for img in page.all("img") if "atmosmodm" in img["alt"])
    sentences = " ".join(dd["text"] for dd in page.all("dd"))
    assert "atmosmodm (stand-in)" in sentences
    assert not re.search(r"atmosmodm(?! \(stand-in\))", sentences)


def test_a_title_that_says_stand_in_says_it_once(words):
    text = words(study([standin(title="atmosmodm (stand-in)")]))[1]
    names = [span["text"] for span in Page(text).all("span") if span.get("class") == "case"]
    assert set(names) == {"atmosmodm stand-in reduced"} and "(stand-in) (stand-in)" not in text


def test_reduced_sizes_are_marked_and_only_these(mixed):
    names = {span["text"] for span in mixed[2].all("span") if span.get("class") == "case"}
    assert "ANISO1 300 × 300 reduced" in names and "ANISO2 2500 × 2500" in names and "bar" in names


def test_coverage_cells_show_ours_the_papers_and_the_difference(mixed):
    *_, page = mixed
    ours, paper = study()["cases"][1]["coverage"], catalogue()["aniso1"].table5
    by_index, at_random, auto = rows_of(page, "Table 5", "ANISO1")
    parallel = [(ours["identity"], paper.c_id)]
    parallel += [(ours["parallel"][str(n)], paper.parallel[n]) for n in (1, 2, 3, 4)]
    parallel += [(ours["block"][str(m)], paper.block[m]) for m in (1, 5)]
    shown = [f"{value:.2f}paper {theirs:.2f} (+0.00)" for value, theirs in parallel]
    assert [by_index[i] for i in (1, 2, 4, 6, 8, 10, 11)] == shown and by_index[0] == "index"
    sequential = [(ours["sequential"][str(n)], paper.sequential[n]) for n in (1, 2, 3, 4)]
    shown = [f"{value:.2f}paper {theirs:.2f} (+0.00)" for value, theirs in sequential]
    assert at_random[3:10:2] == shown and at_random[0] == "random"
    assert auto[3:10:2] == ["–"] * 4 and not any("paper" in text for text in auto)


def rows_of(page, caption, name):
    """The rows of one matrix: those of its orders among equal weights, without its name."""
    rows = page.rows(caption)
    first = next(place for place, row in enumerate(rows) if row[0].startswith(name))
    return [rows[first][1:], *rows[first + 1 : first + 3]]


def test_table4_has_the_papers_columns(mixed):
    *_, page = mixed
    row = rows_of(page, "Table 4", "ANISO2")[0]
    assert row[1:4] == ["0.67paper 0.67 (+0.00)", "0.67paper 0.67 (+0.00)", "1,252paper 1,251 (+1)"]
    assert len(row) == 11
    reduced = rows_of(page, "Table 4", "ANISO1")[0]
    assert reduced[3] == "1,253paper 1,252"  # a count that depends on the size: no difference


def test_hashes_and_sums_stand_beside_each_other(mixed):
    *_, page = mixed
    row = next(row for row in page.rows("MD5 and splitmix64") if row[0].startswith("ANISO2"))
    assert row[1:4] == ["0.2725", "0.2725", "0.0010"]
    rows = page.rows("Sums in single precision")
    assert rows[1][1:3] == ["double precision", "0.132paper 0.13"]
    assert rows[2][0] == "float32, 4 partial sums"


def test_on_the_cpu_no_figure_of_the_gpu_is_shown(words):
    made = case(performance=study_cases.performance(launches=False))
    page = Page(words(study([made]))[1])
    text = page.text_of("performance")
    assert "do not apply" in text and "On the CPU, for figure 5" in text
    assert not any(img["alt"].startswith("Box") for img in page.all("img"))
    assert "Launches of Algorithm 3" not in text


def test_table3_has_the_sizes_beside_the_papers(mixed):
    *_, page = mixed
    row = next(row for row in page.rows("Table 3") if row[0].startswith("ANISO1"))
    assert row[2:] == [
        "yespaper yes",
        "90,000paper 6,250,000",
        "806,404paper 56,220,004",
        "9.00paper 9.00 (+0.00)",
    ]
    missing = next(row for row in page.rows("Table 3") if row[0].startswith("Serena"))
    assert missing[2:] == ["–"] * 4


@pytest.mark.parametrize(
    ("changes", "shift", "marked"),
    [
        ({}, 0.03, True),
        ({}, -0.03, True),
        ({}, 0.008, False),
        ({"at_paper_size": False}, 0.03, False),
        ({"origin": "stand-in"}, 0.03, False),
        ({"paper": None}, 0.03, False),
    ],
)
def test_departures_are_marked_on_the_papers_own_matrices_only(words, changes, shift, marked):
    made = case(coverage=study_cases.coverage(shift=shift), convergence=None, performance=None)
    page = Page(words(study([made | changes]))[1])
    cells = [e for e in page.all("span", **{"class": "departs"}) if "td" in e["parents"]]
    assert len(cells) == (18 if marked else 0)


PUBLISHED = {"TriScal": "paper 0.13", "AlgTriScal": "paper 0.67"}


def test_solves_show_the_numbers_of_the_study(mixed):
    *_, page = mixed
    rows = page.rows("Convergence in numbers")[1:5]
    for row, run in zip(rows, study()["cases"][0]["convergence"]["runs"]):
        total = run["setup_seconds"] + run["solve_seconds"]
        assert row[-10:] == [
            run["precond"],
            count(run["iterations"]),
            count(run["median_iterations"]) + spread(run["permuted_iterations"], count),
            "converged",
            seconds(run["setup_seconds"]),
            seconds(run["solve_seconds"]),
            seconds(total),
            small(run["residual"]),
            small(run["error"]),
            coverage(run["coverage"]) + PUBLISHED.get(run["precond"], ""),
        ]


def test_best_is_bold_and_only_among_converged(words):
    solves = study_cases.convergence()
    solves["runs"][3]["status"] = "DIVERGED"  # the one with the fewest iterations
    page = Page(words(study([case(convergence=solves, coverage=None, performance=None)]))[1])
    bold = [strong["text"] for strong in page.all("strong") if "td" in strong["parents"]]
    assert {"104.5", "106"} < set(bold) and not {"84.5", "86"} & set(bold)


def test_performance_shows_the_numbers_of_the_study(mixed):
    page = mixed[2]
    single, double = page.rows("Propositions in numbers")[2:4]
    quotients = ["0.84", "1.28", "1.76", "2.36"]
    later = [f"{quotient}10 %" for quotient in quotients]  # in small print the active vertices
    assert single[1:] == ["float32", "2.50 ms", "1.20", "15.0", "12.5", "8.00", *quotients, *later, *later]
    assert double == ["float64", *single[2:]]
    row = next(row for row in page.rows("way and ours") if row[0] == "ANISO2 2500 × 2500")
    assert row[1:] == [
        "4.00 ms", "1.00 ms", "4.00", "10.1 ms", "2.00 ms", "500 µs", "4.00", "63.4 ms", "31.7 ms", "2.00",
        "12.7", "37 %", "45 %",
    ]  # fmt: skip


def test_the_product_by_segmented_reduction_is_shown_where_it_was_measured(words):
    """Not on the CPU, and not by older versions."""
    on_gpu, old = study_cases.performance(), study_cases.performance()
    assert all(spmv.pop("srcsr") for spmv in old["spmv"].values())
    page = Page(words(study([case(performance=on_gpu), case("old", performance=old)]))[1])
    rows = page.rows("Propositions in numbers")
    assert rows[0][2:5] == ["SpMV", "SRCSR, in SpMV", "GB/s"] and rows[1][:2] == ["SpMV", "SRCSR"]
    assert [row[-16:-12] for row in rows[2::2]] == [
        ["1.20", "15.0", "12.5", "8.00"],
        ["–", "15.0", "–", "8.00"],
    ]
    for performance in (old, study_cases.performance(launches=False)):
        assert "SRCSR" not in words(study([case(performance=performance)]))[1]


def test_problems_are_listed_with_reason_and_remedy(mixed):
    text = mixed[2].text_of("problems")
    assert "ValueError: A has a NaN at (3, 4)" in text and "linforest study broken.mtx" in text
    assert "not in the cache, and there is no network" in text and "LINFOREST_MATRICES" in text
    assert "without coverage" in text  # selected, but without results
    assert "rho vanished" in text  # the advice for a breakdown


def test_a_study_without_problems_says_so(words):
    page = Page(words(study([case()]))[1])
    assert "every case was done" in page.text_of("problems")
    assert len(page.all("img")) == 7 and page.faults == []


def test_a_study_without_finished_cases_gives_a_page(report):
    cases = [not_done("Serena", "missing", "no network")]
    page = Page(report(study(cases, finished=None, interrupted=True))[1])
    assert page.faults == [] and not page.all("img") and not page.all("dd")
    assert "interrupted" in page.all("header")[0]["text"] and "--resume" in page.all("header")[0]["text"]
    assert "no network" in page.text_of("problems")


def test_incomplete_cases_and_unknown_values_are_accepted(report):
    bare = {"name": "x", "status": "done"}
    strange = case(origin="moon", paper="unheard-of", convergence=None, performance={"spmv_seconds": None})
    runs = [{"precond": "Other", "status": "WHO_KNOWS"}, {"precond": "None", "status": None, "history": None}]
    solved = case(
        "y",
        title=None,
        convergence={"runs": runs},
        coverage={"identity": None},
        performance={"propositions": {"1": 1}},
    )
    path, text = report({"cases": [bare, strange, solved]})
    assert Page(text).faults == [] and "moon" in text and "who_knows" in text
    assert "nan" not in unescape(re.sub(r'src="[^"]*"', "", text)).lower()


def test_names_and_errors_are_escaped(report):
    evil = "<script>alert('1')</script> & \"quotes\" $x$"
    cases = [
        case(evil, title=evil, note=evil),
        not_done(evil, "failed", evil),
        standin(title=evil, note=evil),
    ]
    path, text = report(study(cases, title=evil, machine={"processor": evil}))
    page = Page(text)
    assert "<script" not in text and page.faults == [] and not page.all("script")
    assert page.all("h1")[0]["text"] == evil and evil in page.text_of("problems")
    with open(path.parent / "coverage_table3.csv", newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["name"] == evil


def test_the_same_study_gives_the_same_bytes(report):
    made = study([case()])
    assert report(made)[1] == report(made)[1]


def test_writing_does_not_change_the_study(words):
    made = study()
    words(made)
    assert made == study()


@pytest.mark.slow
def test_all_matrices_of_the_paper_stay_within_a_few_megabytes(report):
    _, text = report(study_cases.large_study())
    page = Page(text)
    assert len(page.all("img")) == 22 + 6 and page.faults == []
    assert len(text) < 5e6
    assert all(name in page.text_of("matrices") for name in catalogue())


def test_the_error_about_a_missing_module_names_the_extra(tmp_path):
    tables = {"pandas": 0, "jinja2": 11, "matplotlib": 11}
    script = f"""
import sys
sys.path.insert(0, {str(study_cases.__file__).rpartition("/")[0]!r})
from study_cases import case, study
from linforest_precond.study.forests import FORESTS
from linforest_precond.study.number_formats import count, coverage, seconds, small, spread
from linforest_precond.study.report import write_report
for module in {list(tables)}:
    assert module not in sys.modules
    sys.modules[module] = None
    try:
        write_report(FORESTS, study([case()]), {str(tmp_path)!r} + "/" + module)
    except ImportError as error:
        print(error)
    del sys.modules[module]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout.count('pip install "linforest-precond[study]"') == len(tables), done.stderr
    for module, files in tables.items():
        assert len(list(tmp_path.glob(f"{module}/*.csv"))) == files
        assert not list(tmp_path.glob(f"{module}/report*"))


def test_a_median_over_unsolved_systems_is_infinite(words):
    solves = study_cases.convergence()
    solves["runs"][1] |= {"median_iterations": None, "permuted_iterations": [90.0, None, None]}
    rows = Page(words(study([case(convergence=solves)]))[1]).rows("Convergence in numbers")
    assert [row[-8] for row in rows[1:]] == ["221218 to 227", "∞90 to ∞", "106103 to 112", "8683 to 92"]
    solves["permutations"] = 0
    solves["runs"][1]["permuted_iterations"] = None
    rows = Page(words(study([case(convergence=solves)]))[1]).rows("Convergence in numbers")
    assert rows[2][-8] == "–"


def test_method_shows_limits_permutations_and_threads(words):
    other = case("b", convergence=study_cases.convergence() | {"maxiter": 200, "permutations": 0})
    other["performance"]["threads"] = [1, 8]
    first = case()
    first["performance"]["threads"] = [1, 8]
    text = " ".join(Page(words(study([first, other]))[1]).text_of("method").split())
    assert "at most 1e-10, or after 200 to 5,000 iterations" in text
    assert "in 0 to 3 random symmetric permutations" in text
    assert "Threads: 1 for SpMV, copy, propositions and scans, 8 for setups." in text


def pictures_of(page):
    return [base64.b64decode(img["src"].partition(",")[2]).decode() for img in page.all("img")]


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class TestDarkTheme:
    def test_every_colour_of_a_picture_can_be_seen_in_the_dark(self, mixed):
        from linforest_precond.study.drawing import DARK, DARK_STYLE

        for svg in pictures_of(mixed[-1]):
            assert DARK_STYLE in svg
            for property_, colour in set(
                re.findall(r"(fill|stroke): (#[0-9a-f]{6})", svg.replace(DARK_STYLE, ""))
            ):
                shown = DARK.get(colour, colour)
                if colour in ("#ffffff", "#e4e4e4"):  # the background, and the grid, which is to be faint
                    assert contrast(shown, "#1d232a") < 2
                else:
                    assert contrast(shown, "#1d232a") >= 3, (property_, colour)
                    assert f"[style*='{property_}: {colour}' i]" in svg or shown == colour

    def test_swatches_have_the_colours_of_the_curves(self, mixed):
        from linforest_precond.study.drawing import DARK
        from linforest_precond.study.forests.plots import OTHER, PRECONDITIONERS

        styles = "".join(style["text"] for style in mixed[-1].all("style"))
        for look in (*PRECONDITIONERS.values(), OTHER):
            colour = look["colour"]
            dark = DARK.get(colour.lower(), colour)
            assert contrast(dark, "#1d232a") >= 3
            if dark != colour:
                rule = f".swatch[style*='border-top-color: {colour.lower()}' i] {{ border-top-color: {dark}"
                assert rule in styles

    def test_documents_have_pictures_of_one_theme(self, tmp_path):
        """The site that they are for has a switch of its own, which pictures cannot see."""
        pytest.importorskip("matplotlib")
        from linforest_precond.study.report import write_document

        write_document(FORESTS, study([case()]), tmp_path)
        written = list((tmp_path / "forests").glob("*.svg"))
        assert written and not any("prefers-color-scheme" in file.read_text() for file in written)


def test_explanations_can_be_read_without_a_mouse(mixed):
    """Everything that a tooltip of a table's heading tells is also told below the table."""
    *_, page = mixed
    heads = [th for th in page.all("th") if "title" in th]
    notes = " ".join(p["text"] for p in page.all("p") if p.get("class") == "columns")
    assert len(heads) > 5
    for head in heads:
        assert f"{head['text']}: {head['title']}." in notes
    badges = {span["title"] for span in page.all("span") if span.get("title")}
    visible = "".join(section["text"] for section in page.all("section"))
    assert all(text in visible for text in badges if text != "The residual meets the tolerance.")


def test_performance_has_an_introduction(mixed, words):
    for page in (
        mixed[-1],
        Page(words(study([case(performance=study_cases.performance(launches=False))]))[1]),
    ):
        text = page.text_of("performance")
        before_figures = text[: text.index("igure 3. " if page is mixed[-1] else "for figure 3")]
        for term in ("setup", "SpMV", "proposition", "cycles", "permutation", "bands", "k = 1"):
            assert term in before_figures


def test_words_are_spelled_out(mixed):
    *_, page = mixed
    heads = {th["text"] for th in page.all("th")}
    assert "parallel" in heads and not [text for text in heads if re.search(r"[a-z]\.$", text)]


@pytest.mark.parametrize(("error", "flagged"), [(1e-7, False), (0.3, True)])
def test_a_converged_solve_with_a_large_error_is_flagged(words, error, flagged):
    made = case(coverage=None, performance=None)
    made["convergence"]["runs"][0]["error"] = error
    page = Page(words(study([made]))[1])
    row = next(row for row in page.rows("Convergence in numbers") if "Jacobi" in row)
    assert any("large" in cell for cell in row) == flagged
    assert ("1 has a large forward error: Jacobi on ANISO2" in page.all("header")[0]["text"]) == flagged
    made["convergence"]["runs"][0]["status"] = "MAXITER"
    row = next(row for row in Page(words(study([made]))[1]).rows("Convergence in numbers") if "Jacobi" in row)
    assert not any("large" in cell for cell in row)


@pytest.mark.parametrize("status", ["done", "failed", "missing"])
def test_files_are_named_without_their_folders(report, status):
    made = case("/home/ada/secret/A b.mtx", title="A b.mtx", origin="file", paper=None, status=status)
    made |= {"convergence": None, "performance": None} | ({} if status == "done" else {"coverage": None})
    path, text = report(study([made]))
    assert "A b.mtx" in text and "secret" not in text and "/home" not in text
    if status != "done":
        assert "linforest study 'A b.mtx'" in unescape(text)


def test_further_preconditioners_are_explained(words, mixed):
    assert "one V-cycle" not in mixed[-1].text_of("convergence")
    made = case(coverage=None, performance=None)
    made["convergence"]["runs"].append(study_cases.run("Multilevel", 0.3) | {"coverage": None})
    page = Page(words(study([made]))[1])
    assert "one V-cycle of algebraic multigrid" in page.text_of("convergence")
    assert any("Multilevel" in row for row in page.rows("Convergence in numbers"))


def test_the_legend_has_the_names_of_the_paper_and_of_the_library(report, mixed):
    text = mixed[-1].text_of("convergence")
    for both in ("TriScal (tridiagonal_original)", "AlgTriScal (tridiagonal)", "Jacobi (jacobi)"):
        assert both in text
    assert "AlgTriBlock+ (block_tridiagonal)" in text
