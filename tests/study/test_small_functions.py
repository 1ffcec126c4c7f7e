"""Small functions of the studies, by examples."""

import numpy as np

import linforest_precond as lf


def test_named_cases():
    from linforest_precond.study.cases import named_cases

    assert [case.name for case in named_cases(["aniso2", "Ecology1", "poisson2d:50"])] == [
        "aniso2:200",
        "standin:ecology1/10",
        "poisson2d:50",
    ]
    assert named_cases(["ecology1"], full=True)[0].name == "McRae/ecology1"


def test_is_symmetric():
    from linforest_precond.study.cases import is_symmetric

    A = lf.matrices.poisson((4, 4))
    assert (is_symmetric(A), is_symmetric(lf.matrices.stencil(4, [1, 4, -1]))) == (True, False)


def test_slug():
    from linforest_precond.study.cases import slug

    assert (slug("standin:atmosmodm/4"), slug("../a b.mtx")) == ("standin-atmosmodm-4", "a-b.mtx")


def test_in_both_themes():
    from linforest_precond.study.drawing import in_both_themes

    assert "prefers-color-scheme: dark" in in_both_themes("<svg><path style='fill: #333333'/></svg>")


def test_as_svg():
    from linforest_precond.study import drawing

    assert drawing.as_svg(drawing.new_figure(2, 1))[:4] == "<svg"


def test_cell_weights():
    from linforest_precond.study.forest_plots import cell_weights

    bands, rest = cell_weights(np.array([[1.0, 5, -2], [0, 3, 0], [0, 0, 4]]), order=[2, 0, 1])
    assert repr(bands) == "array([[4., 0., 0.],\n       [2., 1., 5.],\n       [0., 0., 3.]])"
    assert float(rest.sum()) == 0.0


def test_preconditioners():
    from linforest_precond.study.forests.convergence import preconditioners

    assert (
        ", ".join(preconditioners("md5", "index", "none"))
    ) == "Jacobi, TriScal, AlgTriScal, AlgTriBlock m = 1, AlgTriBlock m = 5, AlgTriScal+, AlgTriBlock+"


def test_convergence():
    from linforest_precond.study.forests.convergence import convergence

    runs = convergence(lf.matrices.aniso(2, 50))["runs"]
    assert (len(runs), {run["status"] for run in runs}) == (7, {"CONVERGED"})


def test_scan_bytes():
    from linforest_precond.study.forests.counted_times import scan_bytes

    assert scan_bytes(1000, index=4, value=4) == {"cycles": 64000, "paths": 32000}


def test_coverages():
    from linforest_precond.study.forests.coverage import coverages

    found = coverages(lf.matrices.aniso(1, 100))
    assert (found["configurations"][0]["iterations_max"], round(found["parallel"]["2"], 2)) == (52, 0.67)
    assert [round(found["rules"][rule]["sequential"]["1"], 2) for rule in ("index", "random")] == [
        0.34,
        0.29,
    ]


def test_forests_findings():
    from linforest_precond.study.forests.findings import findings

    runs = [
        {"precond": "Jacobi", "status": "CONVERGED", "iterations": 250},
        {"precond": "AlgTriScal", "status": "CONVERGED", "iterations": 120},
    ]
    case = {"name": "aniso2:300", "status": "done", "convergence": {"runs": runs}}
    explained, fewest = [found.sentence for found in findings({"cases": [case]})[:2]]
    assert explained.startswith("Jacobi is the diagonal of A; AlgTriScal is ")
    assert fewest == "AlgTriScal needed the fewest iterations on the one matrix that was solved."


def test_forests_findings_set_blocks_that_cover_more_apart():
    from linforest_precond.study.forests.findings import findings

    def solved(scalar, blocks):
        names = "AlgTriScal", "AlgTriBlock m = 5"
        runs = [
            {"precond": name, "status": "CONVERGED", "coverage": covered, "iterations": needed}
            for name, (covered, needed) in zip(names, (scalar, blocks))
        ]
        return {"name": "aniso2:300", "status": "done", "convergence": {"runs": runs}}

    more = [solved((0.4, 210), (0.5, 195)), solved((0.4, 210), (0.5, 211))]
    found = findings({"cases": [*more, solved((0.95, 22), (0.86, 55))]})
    assert [each.sentence for each in found if each.topic == "Blocks"] == [
        "AlgTriBlock m = 5 needed fewer iterations than AlgTriScal on 1 of 2 matrices where it covers more "
        "weight, and on 0 of 1 others."
    ]


def test_has_large_error():
    from linforest_precond.study.forests.findings import has_large_error

    assert [has_large_error({"status": "CONVERGED", "error": error}, 1e-10) for error in (1e-7, 1e-2)] == [
        False,
        True,
    ]


def test_forests_select():
    from linforest_precond.study.forests import FORESTS

    assert (len(FORESTS.select()), len(FORESTS.select(full=True))) == (7, 22)


def test_performance():
    from linforest_precond.study.forests.performance import performance

    found = performance(lf.matrices.aniso(2, 50))
    assert [stage["stage"] for stage in found["setups"]["paper"]] == [
        "gate",
        "factor",
        "cycles and paths",
        "ordering",
        "bands",
        "factorization",
    ]
    assert (sorted(found["scans"]["seconds"]), sorted(found["orderings"])) == (
        ["bidirectional_scan", "list_ranking"],
        ["radix_sort", "scan"],
    )


def test_propositions():
    from linforest_precond.study.forests import plots

    row = {"dtype": "float64", "k": 1, "n": 2, "seconds": 1.2e-3}
    timings = {"spmv": {"float64": {"seconds": 1e-3}}, "propositions": [row]}
    case = {"name": "aniso1:30", "status": "done", "performance": timings}
    assert (
        plots.propositions({"cases": [case]}).axes[0].get_xlabel()
    ) == "time of one proposition / time of SpMV"


def test_permutation():
    from linforest_precond.study.forests.convergence import Permutation

    A = lf.matrices.aniso(2, 10)
    M, r = lf.tridiagonal(A), np.arange(100.0)
    permutation = Permutation(A, seed=0)
    assert bool(np.allclose(permutation.matrix(A) @ permutation.vector(r), permutation.vector(A @ r)))
    assert bool(np.allclose(permutation.operator(M) @ permutation.vector(r), permutation.vector(M @ r)))


def test_convergence_panel():
    from linforest_precond.study.forests import plots

    history = {"iterations": [0, 1, 2], "residuals": [1, 1e-3, 1e-7], "errors": [1, 1e-2, 1e-6]}
    run = {"precond": "Jacobi", "status": "CONVERGED", "history": history}
    case = {"name": "aniso1:30", "convergence": {"rtol": 1e-6, "runs": [run]}}
    assert plots.convergence_panel(case).get_title() == "aniso1:30"


def test_maxiter_for():
    from linforest_precond.study.forests.settings import ForestSettings

    assert [ForestSettings().maxiter_for(nnz) for nnz in (800_000, 8_814_880, 56_220_004)] == [
        2000,
        1100,
        200,
    ]
    assert ForestSettings(device="cpu", maxiter=70).maxiter_for(56_220_004) == 70


def test_permutations_for():
    from linforest_precond.study.forests.settings import ForestSettings

    assert [ForestSettings(full=full).permutations_for(800_000) for full in (False, True)] == [0, 5]


def test_single_precision():
    from linforest_precond.matrix.checked import checked
    from linforest_precond.study.forests.coverage import single_precision

    assert [round(row["identity"], 4) for row in single_precision(checked(lf.matrices.aniso(1, 100)))] == [
        0.6688,
        0.6684,
        0.6684,
        0.6685,
        0.6684,
    ]


def test_running_sum():
    from linforest_precond.study.forests.coverage import running_sum

    assert [running_sum(np.array([2**24, 1, 1, 1], np.float32), parts) for parts in (1, 2)] == [
        16777216.0,
        16777218.0,
    ]


def test_compare():
    from linforest_precond.study.forests.tables import TABLE5, compare

    case = {"name": "aniso2:2500", "paper": "aniso2", "origin": "generated", "at_paper_size": True}
    comparison = compare(case | {"coverage": {"identity": 0.134}}, TABLE5[0])
    assert (comparison.ours, comparison.published, comparison.departs) == (0.134, 0.13, False)


def test_sweep_of():
    from linforest_precond.study.graphs.graphs import sweep_of

    assert sweep_of("1000@0.45") == (1000, 0.45) and sweep_of("aniso2:50") is None


def test_graphs_select():
    from linforest_precond.study.graphs import GRAPHS

    assert [case.name for case in GRAPHS.select()][:3] == ["1000@0.1", "2000@0.1", "1000@0.45"]
    assert len([case for case in GRAPHS.select(full=True) if case.at_paper_size]) == 45


def test_random_digraph():
    from linforest_precond.study.graphs.graphs import random_digraph

    A = random_digraph(1000, 0.45)
    assert (round(A.nnz / (1000 * 999), 2), int(A.diagonal().sum())) == (0.45, 0)


def test_undirected():
    from linforest_precond.study.graphs.graphs import undirected

    assert undirected(np.array([[0, 1], [0, 0]])).toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_weighted():
    from linforest_precond.study.graphs.graphs import random_digraph, weighted

    assert sorted(weighted(random_digraph(3, 1.0)).data.tolist()) == [1.0, 2.0, 3.0]


def test_rows_of():
    from linforest_precond.study.graphs.tables import rows_of

    found = {"threads": 2, "algorithms": {"fastsv": {"cpu": 0.4, "host": 0.2, "gpu": None}}}
    case = {"name": "1000@0.1", "status": "done", "rows": 1000, "nnz": 10**5, "components": found}
    row = rows_of({"cases": [case]})[0]
    assert (
        row.algorithm.thesis,
        row.speedup("host", "cpu"),
        row.thread_efficiency,
        row.paper_seconds("cpu"),
    ) == ("CC_opt2", 2.0, 1.0, 0.0183)


def test_measured():
    from linforest_precond.study.graphs import GRAPHS
    from linforest_precond.study.graphs.graphs import random_digraph
    from linforest_precond.study.graphs.measures import measured
    from linforest_precond.study.paper import Settings

    found = measured("components", random_digraph(50, 0.1), GRAPHS.select()[0], Settings())
    assert (found["algorithms"]["fastsv"]["size"], found["algorithms"]["fastsv"]["valid"]) == (1, True)


def test_surroundings():
    from linforest_precond.study.machine import surroundings

    found = surroundings("cpu")
    assert (found["gpu"], found["versions"]["cupy"], found["cores"] > 0) == (None, None, True)


def test_serial_matchings():
    from linforest_precond.matrix.checked import checked
    from linforest_precond.study.matching.algorithms import serial_matchings

    graph = checked(lf.matrices.poisson((2, 1))).graph
    assert serial_matchings(graph, weighted=(True,), seeds=[0]) == [[(1, 1.0)]]


def test_orders():
    from linforest_precond.study.matching.measures import MatchingSettings

    assert [MatchingSettings(full=full).orders for full in (False, True)] == [8, 32]


def test_rounds():
    from linforest_precond.study.matching.measures import rounds

    found = rounds(lf.matrices.poisson((30, 30)), None, None)
    fractions = found["random"]["matched"]
    assert (0.3 < fractions[0] < 0.65, fractions[-1] > 0.9, len(fractions) == found["random"]["rounds"]) == (
        True,
        True,
        True,
    )


def test_first_round():
    from linforest_precond.study.matching.measures import first_round

    assert (round(first_round(0.53406), 4), first_round(1.0)) == (0.6357, 0.0)


def test_best_probability():
    from linforest_precond.study.matching.measures import best_probability

    assert round(best_probability(), 5) == 0.53406


def test_quality():
    from linforest_precond.study.matching.measures import MatchingSettings, quality

    found = quality(lf.matrices.aniso(2, 40), None, MatchingSettings(permutations=2))
    assert (found["dominant"], 0.9 < found["size"] < 1.1) == ({"locally_dominant": 1.0, "suitor": 1.0}, True)


def test_arrangement():
    from linforest_precond.study.matching.measures import arrangement

    found = arrangement(lf.matrices.poisson((40, 40)), None, None)
    assert found["scaled"]["gain"][0] < 1 < found["scaled"]["gain"][-1]


def test_matching_select():
    from linforest_precond.study.matching import MATCHING

    assert ([case.name for case in MATCHING.select()][:2], len(MATCHING.select(full=True))) == (
        ["standin:ecology1/10", "aniso2:200"],
        57,
    )


def test_coverage():
    from linforest_precond.study.number_formats import coverage

    assert (coverage(0.6666), coverage(None)) == ("0.67", "–")


def test_count():
    from linforest_precond.study.number_formats import count

    assert (count(6250000), count(87.5), count(88.0)) == ("6,250,000", "87.5", "88")


def test_seconds():
    from linforest_precond.study.number_formats import seconds

    assert (seconds(0.00293), seconds(41.0), seconds(754)) == ("2.93 ms", "41.0 s", "12.6 min")
    assert [seconds(time).split()[1] for time in (0.9996, 0.9994)] == ["s", "ms"]  # never "1,000 ms"


def test_digits3():
    from linforest_precond.study.number_formats import digits3

    assert (digits3(0.04567), digits3(4.567), digits3(4567.8)) == ("0.0457", "4.57", "4,568")


def test_difference():
    from linforest_precond.study.number_formats import difference

    assert (difference(0.004, 2), difference(-0.03, 2), difference(-2, 0)) == ("+0.00", "−0.03", "−2")


def test_moment():
    from linforest_precond.study.number_formats import moment

    assert (moment("2026-01-05T10:00:59+00:00"), moment("2026-01-05T10:00:59")) == (
        "2026-01-05 10:00 UTC",
        "2026-01-05 10:00",
    )


def test_listed():
    from linforest_precond.study.number_formats import listed

    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")


def test_paper_named():
    from linforest_precond.study.papers import paper_named

    assert paper_named("forests").reference.doi == "10.1145/3545008.3545035"


def test_matching_numbers():
    from linforest_precond.study.published import keyed_numbers

    numbers = keyed_numbers("matching")
    assert (numbers["gain"], numbers["greedy"]) == (1.15, 0.85)


def test_rcm_table():
    from linforest_precond.study.published import named_rows

    assert (len(named_rows("rcm")), named_rows("rcm")["ecology1"]["cpu_rcm"]) == (26, 26.81)


def test_graph_times():
    from linforest_precond.study.graphs.graphs import graph_times

    assert (len(graph_times()), graph_times()["MIS_opt3", 0.45, 7500].cpu) == (270, 3850.0)


def test_scale_tables():
    from linforest_precond.study.published import named_rows

    assert (named_rows("scale")["mycielskian18"]["ld_gap"], "ld_gap" in named_rows("scale")["GAP-kron"]) == (
        12.5,
        False,
    )


def test_rcm_findings():
    from linforest_precond.study.rcm.findings import findings

    case = {"name": "a", "status": "done", "orders": {"identical": True}}
    assert (
        findings({"device": "cpu", "cases": [case]})[0].sentence
        == "All methods gave the same order on the one matrix."
    )


def test_mean_front_of_a_vertex():
    from linforest_precond.study.rcm.measures import mean_front_of_a_vertex

    side = np.arange(1, 1001)  # the fronts of a grid from its corner; table I has 667 for ecology1
    assert round(mean_front_of_a_vertex(np.append(side, side[-2::-1]))) == 667


def test_rcm_select():
    from linforest_precond.study.rcm import RCM

    assert (len(RCM.select()), len(RCM.select(full=True)), RCM.select(["Bodyy4", "aniso2:50"])[0].name) == (
        8,
        26,
        "Pothen/bodyy4",
    )


def test_mean_stage_shares():
    from linforest_precond.study.rcm.plots import mean_stage_shares

    stages = {"discover": 3, "sort": 1, "rediscover": 0, "signal": 0, "output": 0, "stall": 0}
    case = {"status": "done", "threads": {"runs": [{"threads": 2, "stages": stages}]}}
    assert mean_stage_shares({"cases": [case]})[2]["discover"] == 0.75


def test_headings():
    from linforest_precond.study.listings import headings

    assert (
        [[head.text for head in line] for line in headings(["name", ("time", "ours"), ("time", "paper")])]
    ) == [["name", "time"], ["ours", "paper"]]


def test_label():
    from linforest_precond.study.results import label

    assert (
        label({"name": "standin:atmosmodm/4", "title": "atmosmodm", "origin": "stand-in"})
    ) == "atmosmodm (stand-in)"


def test_name_without_folder():
    from linforest_precond.study.results import name_without_folder

    assert name_without_folder({"name": "/home/ada/A.mtx", "origin": "file"}) == "A.mtx"
    assert (
        name_without_folder({"name": "standin:atmosmodm/4", "origin": "stand-in"})
    ) == "standin:atmosmodm/4"


def test_optimum():
    from linforest_precond.study.paper import Settings
    from linforest_precond.study.scale.graphs import weighted
    from linforest_precond.study.scale.measures import optimum

    W, _ = weighted(lf.matrices.poisson((20, 20)))
    found = optimum(W, None, Settings())
    assert (found["solver"], 0 < found["gaps"]["locally_dominant"] < 15) == ("scipy", True)


def test_sides():
    from linforest_precond.study.scale.measures import sides

    assert sides(abs(lf.matrices.poisson((2, 2)))).tolist() == [False, True, True, False]


def test_scale_select():
    from linforest_precond.study.scale import SCALE

    assert [(case.title, case.paper) for case in SCALE.select(["mycielskian:8", "poisson2d:9"])] == [
        ("mycielskian 8", "mycielskian18"),
        ("poisson2d 9", None),
    ]


def test_implied_edges():
    from linforest_precond.study.published import named_rows
    from linforest_precond.study.scale.tables import implied_edges

    row = named_rows("scale")["com-Friendster"]
    assert [round(implied_edges(row, code) / 1e6, 1) for code in ("ld", "sr")] == [26.2, 26.2]


def test_settings():
    from linforest_precond.study.paper import Settings

    settings = Settings(parts=("rounds",))
    assert (settings.mode, settings.as_dict()) == ("quick", {"parts": ["rounds"]})


def test_plain():
    from linforest_precond.study.store import plain

    assert plain({"a": (np.float64(0.5), np.int32(2)), "b": float("nan"), "c": np.inf}) == {
        "a": [0.5, 2],
        "b": None,
        "c": None,
    }


def test_case_file():
    from linforest_precond.study.store import case_file

    assert (case_file("a b"), case_file("a-b")) == ("a-b-c8687a08aa5d6ed2.json", "a-b-d44362d67d921091.json")


def test_shell_word():
    from linforest_precond.study.templating import shell_word

    assert [shell_word({"name": name}) for name in ("aniso2:300", "a b.mtx", "-A.mtx")] == [
        "aniso2:300",
        "'a b.mtx'",
        "./-A.mtx",
    ]
