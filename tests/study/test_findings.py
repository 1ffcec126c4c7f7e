"""
Every number in a sentence of a summary is computed from the results, or is a published one.

A small study of each paper is changed in several ways, and so are the published numbers. A number of a
sentence that no change reaches was written by hand, unless the paper prints it.
"""

import io
import json
import random
import re

import pytest
import study_cases

from linforest_precond.study import published, run, run_paper, timing
from linforest_precond.study.graphs.graphs import graph_times
from linforest_precond.study.papers import PAPERS

pytest.importorskip("matplotlib")

# Small cases of each study, and the parts that need no more than this process.
SMALL = {
    "rcm": ["poisson2d:20", "poisson2d:9"],
    "matching": ["aniso2:12", "poisson2d:9"],
    "graphs": ["40@0.1", "60@0.2"],
    "orderings": ["shuffled:poisson2d:8", "poisson2d:9"],
    "traffic": ["packets:9", "packets:10"],
    "scale": ["mycielskian:5", "poisson2d:9"],
    "joins": ["FLICKR@60", "AOL@40"],
    "grid2d": ["rmat:5", "rmat:7"],
}
WITHOUT = {"grid2d": {"times"}}
# Fields that identify a case or a measurement, and columns of published.csv that do.
IDENTITY = {
    "name",
    "title",
    "paper",
    "origin",
    "note",
    "status",
    "error",
    "at_paper_size",
    "p",
    "m",
    "k_m",
    "n",
}
IDENTITY |= {"fraction", "shape", "threads", "iterations_max"}
COLUMNS = {"name", "key", "where", "algorithm", "density", "size", "group"}
NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# Parts of sentences whose numbers name something: tables, configurations, machines, limits, a maximum.
NAMES = re.compile(
    r"tables? [\d.]+( and [\d.]+)?|figures? [\d.]+|Eq. \d|Algorithm \d|k?_?m = \d|24 n|\d\^\d+|\d+ × \d+|"
    r"\d+ threads|8 GPUs|\d+ batch(es)?|at most \d times|(\d+ to )?\d+ ranks|√p allows \d|"
    r"at least 100,000 entries|Refining [\d.]+ %|maximum at 0.53406|within 10 % of the fastest"
)


@pytest.fixture(scope="module", params=PAPERS)
def paper_and_study(request, tmp_path_factory):
    paper = PAPERS[request.param]
    if paper.name == "forests":
        return paper, study_cases.study()
    out = tmp_path_factory.mktemp(paper.name)
    parts = [part for part in paper.parts if part not in WITHOUT.get(paper.name, ())]
    with timing.numba_threads(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "write_report", lambda paper, study, folder: folder)  # sentences need none
        run_paper(paper.name, SMALL[paper.name], out=out, parts=parts, progress=False)
    study = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert {case["status"] for case in study["cases"]} == {"done"}
    if paper.name == "scale":
        add_copies(study)
    return paper, study


def add_copies(study):
    """What matchings in batches record on a GPU beyond their times."""
    for place, case in enumerate(study["cases"], 1):
        case["batches"]["link"] = 5.7e10
        for count, row in case["batches"]["batched"].items():
            seconds = row["seconds"] / (place + int(count))
            row |= {"sent": int(3e10 * seconds), "bound": 3.1 * row["mmeps"], "pinned": 0.77 * seconds}


def changed(value, draw):
    """A copy of results in which every number and every flag is another one; every row has a copy."""
    if isinstance(value, dict):
        return {key: item if key in IDENTITY else changed(item, draw) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, draw) for item in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return type(value)(value * draw.uniform(1.3, 4.0) + (isinstance(value, int) and value > 0))
    return value


def studies(study):
    """The study with other numbers, without each of its cases, and with each of them alone."""
    cases = study["cases"]
    for seed in range(3):
        draw = random.Random(seed)
        yield study | {"cases": [changed(case, draw) for case in cases]}
    for place in range(len(cases)):
        yield study | {"cases": cases[:place] + cases[place + 1 :]}
        yield study | {"cases": cases[place : place + 1]}


def with_other_numbers(lines, seed):
    """Every published number, but not those that name a row, is another one; every row has a copy."""
    draw = random.Random(seed)

    def other(column, cell):
        is_number = column not in COLUMNS and re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", cell)
        return str(float(cell) * draw.uniform(2.0, 40.0)) if is_number else cell

    def changed_lines(paper):
        found = lines(paper)
        first = next(iter(found[0]))
        copies = [row | {first: f"{row[first]}0"} for row in found]
        return [{column: other(column, cell) for column, cell in row.items()} for row in found + copies]

    return changed_lines


def clear():
    loaders = published.published_rows, published.keyed_numbers, published.named_rows, graph_times
    for loader in loaders:
        loader.cache_clear()


@pytest.fixture
def other_published(monkeypatch):
    """Changes the published numbers when it is called, and restores them at the end."""
    lines = published._lines

    def change(seed):
        monkeypatch.setattr(published, "_lines", with_other_numbers(lines, seed))
        clear()

    yield change
    monkeypatch.undo()
    clear()


def numbers_of(sentence):
    """All but 0 and 1, which are bounds of counts and shares, too."""
    return {
        text
        for text in NUMBER.findall(NAMES.sub(" ", sentence))
        if float(text.replace(",", "")) not in (0, 1)
    }


def test_numbers_of_findings_are_computed(paper_and_study, other_published):
    paper, study = paper_and_study
    said = {finding.topic: finding.sentence for finding in paper.findings(study)}
    assert said
    others = [paper.findings(other) for other in studies(study)]
    for seed in range(3):
        other_published(seed)
        others.append(paper.findings(study))
    for topic, sentence in said.items():
        fixed = numbers_of(sentence)
        for found in others:
            fixed &= numbers_of("".join(each.sentence for each in found if each.topic == topic))
        assert not fixed, (topic, sentence)


def test_findings_need_results(paper_and_study):
    paper, study = paper_and_study
    assert paper.findings(study | {"cases": []}) == []


def test_figures_need_no_results(paper_and_study):
    """A report may be written before the part of a figure was measured."""
    paper, study = paper_and_study
    for draw in paper.plots.FIGURES.values():
        draw(study | {"cases": []}).savefig(io.BytesIO())
