"""The benchmark program runs, its results conform to the schema, and pages show what is stored."""

import copy
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching

from linforest_precond.records.forest import Bands

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="tests run outside a source tree")


def run_quick(out, device):
    """What the program prints, and the results that it writes to `out`."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "LINFOREST_COMMIT": "c0ffee"}
    command = [sys.executable, "-m", "benchmarks.run", "--quick", "--device", device, "--out", out]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture
def document(bench):
    """Of a machine's results, those with the fewest rows."""
    return min(bench("measures.results").read_all(), key=lambda found: len(found["rows"]))


@pytest.mark.slow
def test_the_program_measures_the_cpu(tmp_path, bench):
    printed, document = run_quick(tmp_path / "new" / "quick.json", "cpu")
    bench("measures.results").check(document)
    assert "whole chain, " in printed and document["commit"] == "c0ffee" and document["quick"]
    assert not document["failures"] and {row["backend"] for row in document["rows"]} == {"cpu"}
    assert document["sha256"] == bench("measures.provenance").code_hashes()
    sections = {row["section"] for row in document["rows"]}
    assert sections == {"first calls", "stacks"} | {
        section for section in bench("pages.table").SECTIONS if section.startswith("cpu")
    }


@pytest.mark.gpu
@pytest.mark.slow
def test_the_program_measures_the_gpu(cuda, tmp_path, bench):
    output, document = run_quick(tmp_path / "gpu.json", "cuda")
    bench("measures.results").check(document)
    assert not document["failures"], output
    assert {row["section"] for row in document["rows"]} == set(bench("pages.table").SECTIONS)
    assert not any("not solved" in row["note"] for row in document["rows"])
    # Every kernel of the setup is in a named part of its breakdown.
    assert "other kernels" not in {row["name"] for row in document["rows"] if row["section"] == "breakdown"}


def test_without_a_gpu_the_device_cuda_is_refused(bench, capsys, monkeypatch):
    run = bench("run")
    monkeypatch.setattr(run, "cuda_status", lambda: (False, "no device"))
    assert run.main(["--device", "cuda"]) == 2
    assert "no device" in capsys.readouterr().err


def test_a_failure_does_not_stop_the_other_measurements(bench, monkeypatch, capsys):
    run, row = bench("run"), bench("measures.results").Row("cpu", "works", "a case", [1.0])

    def breaks():
        yield row
        raise RuntimeError("out of luck")

    monkeypatch.setattr(run, "measurements", lambda *_: [("first", breaks), ("second", lambda: [row])])
    *_, (rows, failures) = run.measure("cpu", None)
    assert rows == [row, row] and failures == ["first: RuntimeError: out of luck"]
    assert "out of luck" in capsys.readouterr().err


def test_measurements_are_chosen_by_words_of_their_title(bench):
    run, plan = bench("run"), bench("systems.cases").QUICK
    chosen = [title for title, _ in run.measurements("cpu", plan, ["cpu:pivoting", "cpu:small"])]
    assert chosen == ["solves with pivoting on the CPU", "small matrices on the CPU"]
    with pytest.raises(SystemExit, match="cpu:nothing: the words must be those of a title among whole chain"):
        run.measurements("cpu", plan, ["cpu:nothing"])
    with pytest.raises(SystemExit, match="--only must name modules among .*, got setup"):
        run.measurements("cpu", plan, ["setup:small"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("commit"),
        lambda document: document["rows"][0].update(median=1e9),
        lambda document: document["rows"][0].update(met="yes"),
        lambda document: document["rows"][0].update(judged="unknown"),
    ],
)
def test_the_schema_rejects_damaged_documents(document, damage, bench):
    document = copy.deepcopy(document)
    damage(document)
    with pytest.raises(ValueError, match="document|row 0"):
        bench("measures.results").check(document)


def test_medians_are_those_of_the_rounded_samples(document, bench):
    results = bench("measures.results")
    samples = [-0.123456749, 0.123456851]  # differences of times: the median cancels
    row = results.Row("cpu", "a name", "a case", samples, backend="cpu").as_dict()
    results.check({**document, "rows": [row]})


def test_broken_results_are_named_and_never_stored(document, bench, tmp_path):
    results = bench("measures.results")
    path = tmp_path / "kept.json"
    results.write(path, document)
    with pytest.raises(TypeError):
        results.write(path, {**document, "machine": {"cpu": object()}})
    assert results.read_all(tmp_path) == [document] and os.listdir(tmp_path) == ["kept.json"]
    (tmp_path / "cut.json").write_text('{"schema": 1,')
    with pytest.raises(ValueError, match="cut.json"):
        results.read_all(tmp_path)


def test_the_table_marks_older_code(document, bench):
    table, now = bench("pages.table"), document["sha256"]
    assert table.OLDER not in table.markdown([document], now)
    backend = document["rows"][0]["backend"]
    assert table.OLDER in table.markdown([document], now | {backend: "another"})


def test_the_table_shows_targets(document, bench):
    table, results = bench("pages.table"), bench("measures.results")
    slower = partial(results.Row, "speed", case="a matrix", peer="SpMV", peer_samples=[1.0, 2.0, 3.0])
    faster = partial(results.Row, "solves", case="a path", peer="copy", peer_samples=[3.0], judged="speedup")
    rows = [
        slower("met", samples=[2.0], goal=1.0),
        slower("not met", samples=[5.0], goal=2.0, dream=1.0),
        faster("fast", samples=[4.0], goal=0.75, dream=0.75),
        faster("slow", samples=[4.0], goal=0.8, dream=0.85),
        results.Row("speed", "bare", "a matrix", [0.25]),
    ]
    assert [row.met for row in rows] == [True, False, True, False, None]
    document = results.check(document | {"rows": [row.as_dict() for row in rows]})
    text = table.markdown([document], document["sha256"])
    assert "| met | 1.00 (target ≤ 1) |" in text
    assert "| not met | 2.50 (target ≤ 2 **not met**, stretch target ≤ 1) |" in text
    assert "| a path: fast | 0.750, 4.00 ms (target ≥ 0.75, stretch target ≥ 0.75 met) |" in text
    assert "| a path: slow | 0.750, 4.00 ms (target ≥ 0.8 **not met**, stretch target ≥ 0.85) |" in text
    assert "| bare | 0.250 ms |" in text and table.plain(document).count("NOT MET") == 2


def test_nonpositive_times_meet_no_target(bench):
    reached = bench("measures.results").reached
    assert reached("ratio", 1.0, 0.5, 1.0) and reached("speedup", 1.0, 0.5, 2.0)
    assert not reached("ratio", -1.5, -2.1, 1.0) and not reached("median", -1.5, None, 1.0)
    assert not reached("speedup", 1.0, 0.0, 8.0)


def test_the_document_shows_the_results(bench):
    table, documents = bench("pages.table"), bench("measures.results").read_all()
    assert not any(document["quick"] for document in documents)
    text = table.markdown(documents, bench("measures.provenance").code_hashes())
    document = table.DOCUMENT.read_text(encoding="utf-8")
    assert document == table.updated(document, text), "run python -m benchmarks.pages.table --write"
    assert set(table.BY_TYPE) | set(table.BY_MATRIX) | set(table.NOTED) <= set(table.SECTIONS)
    for stored in documents:  # two rows in one cell would hide each other
        places = [(row["section"], *table._place(row)) for row in stored["rows"]]
        assert len(set(places)) == len(places)
    page = bench("pages.setup_table")
    works = document.partition(page.HEADING)[2].partition("\n## ")[0]
    assert [line.split(" | ")[0][2:] for line in works.splitlines() if line[:2] == "| "][2:] == list(
        page.CELLS
    )


def test_edited_host_code_changes_the_hashes_of_both_backends(bench, tmp_path, monkeypatch):
    machine = bench("measures.provenance")
    before = machine.code_hashes()
    assert set(before) == set(bench("measures.results").HASHED)
    copies = tuple(shutil.copytree(folder, tmp_path / folder.name) for folder in machine.HOST_FOLDERS)
    monkeypatch.setattr(machine, "HOST_FOLDERS", copies)
    assert machine.code_hashes() == before
    with open(tmp_path / "solvers" / "cg.py", "a", encoding="utf-8") as source:
        source.write("# edited\n")
    after = machine.code_hashes()
    assert {part for part in before if before[part] != after[part]} == {"cuda", "cpu"}


@pytest.mark.slow
def test_every_setup_with_a_target_is_measured(bench):
    """At tiny sizes on the CPU, by the code that measures the GPU."""
    setups, targets, plan = bench("measures.setups"), bench("measures.targets"), bench("systems.cases").QUICK
    rows = [row for _, measurement in setups.measurements(plan, "cpu") for row in measurement()]
    assert all(row.goal and row.dream and row.median > 0 and row.backend == "cpu" for row in rows)
    of_standins = [(row.case.split()[0], row.dtype, row.name) for row in rows if row.peer]
    assert of_standins == [
        (name, dtype, call)
        for name, goals in targets.STANDIN_SETUPS.items()
        for dtype, calls in goals.items()
        for call in calls
    ]
    others = [row for row in rows if not row.peer]
    assert len(others) == 8 and {row.section for row in others} == {"setups", "line smoothers", "systems"}
    assert {row.section for row in rows} <= set(bench("pages.table").SECTIONS)


def test_the_traffic_model_counts_words(bench):
    model = bench("measures.memory")
    assert model.held_words(rows=10, block=1) == 5 * 10
    assert model.held_words(rows=10, block=2) == 8 * 20
    moved = partial(model.moved_words, rows=1000, symmetric=True, tile=100)
    assert moved(block=1, halo=0, passes=2) == 7 * 1000
    assert moved(block=1, halo=0, passes=3) == 10 * 1000
    assert moved(block=1, halo=10) == 3 * 1250 + 1000
    assert moved(block=1, halo=0, passes=2, symmetric=False) == 9 * 1000
    # Two blocks of four words, two of the right-hand side, a quarter more for the halos; two of the solution.
    assert moved(block=2, halo=10) == 10 * 1250 + 2 * 1000


@pytest.mark.parametrize("block", [1, 2])
def test_the_backward_error_detects_wrong_solutions(bench, block):
    cases = bench("systems.cases")
    random = np.random.default_rng(3)
    blocks = random.standard_normal((3, 7, block, block))
    blocks[0, 0] = blocks[2, -1] = 0
    T = np.zeros((7 * block, 7 * block))
    for i, (lower, diagonal, upper) in enumerate(zip(*blocks)):
        row, columns = slice(i * block, (i + 1) * block), (i - 1, i, i + 1)
        for j, entries in zip(columns, (lower, diagonal, upper)):
            if 0 <= j < 7:
                T[row, j * block : (j + 1) * block] = entries
    x = random.standard_normal((7 * block, 1))
    bands = Bands(*(blocks if block > 1 else blocks.reshape(3, 7)))
    assert cases.backward_error(bands, T @ x, x) < 1e-15
    wrong = x.copy()
    wrong[3] += 0.5
    size = abs(T).sum(axis=1).max() * abs(wrong).max() + abs(T @ x).max()
    expected = abs(T @ (wrong - x)).max() / size
    assert cases.backward_error(bands, T @ x, wrong) == pytest.approx(expected)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pivoting", [False, True])
def test_cusparse_solves_the_same_system(cuda, bench, dtype, pivoting):
    cases = bench("systems.cases")
    make = cases.needs_pivoting if pivoting else cases.one_path
    _, bands = make(1000, dtype, cuda.xp)
    b = cuda.array(cases.right_sides(1000, 1, dtype))
    x = b.copy()
    bench("measures.tridiagonal_solves").Gtsv2(bands, pivoting).solve_in_place(x)
    assert cases.backward_error(bands, b, x, cuda.xp) < 1e3 * np.finfo(dtype).eps


def test_the_systems_have_the_stated_properties(bench):
    cases = bench("systems.cases")
    cpu, b = bench("measures.cpu"), cases.right_sides(500, 1, "float64")
    for (_, bands), peer in (
        (cases.one_path(500, "float64"), cpu.pttrs),
        (cases.needs_pivoting(500, "float64"), cpu.gttrs),
    ):
        x, info = peer(bands)(b)
        assert info == 0 and cases.backward_error(bands, b, x) < 1e-14
    made = {name: case(cases.QUICK)[1] for name, (case, _) in cases.GRAPH_CASES.items()}
    assert {name for name, A in made.items() if (A != A.T).nnz == 0} == {"R-MAT", "cube", "weighted cube"}
    (_, hub), (_, regular) = cases.hub(cases.QUICK), cases.regular(cases.QUICK)
    assert np.diff(hub.indptr).max() == hub.shape[0] and regular.nnz == pytest.approx(hub.nnz, rel=0.05)
    (_, flow), (_, cube) = cases.flow(cases.QUICK), cases.solved_cube(cases.QUICK)
    assert (flow != flow.T).nnz and abs((flow + flow.T) / 2 - cube).max() < 1e-15
    for make in cases.MATCHED_ROWS.values():
        assert maximum_bipartite_matching(make(400)).min() >= 0


def test_costs_of_ranks_are_given_in_units_of_one_process(bench):
    program = bench("pages.rank_costs")
    one, two = (
        {f"{kind}: {way}": (seconds, 2 * seconds) for kind in program.KINDS for way, seconds in ways.items()}
        for ways in ({"alone": 1.0, "ranks": 1.5}, {"ranks": 0.5})
    )
    table = program.markdown(one, two, 10)
    assert "| `multilevel`: setup | 1,000.0 | 1,500.0 | 1.50 x | 500.0 | 0.50 x |" in table
    assert table.count("iteration of CG") == len(program.KINDS)
