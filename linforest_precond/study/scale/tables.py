"""The tables of the study: distances from the optimum, rates, memory, and the published tables."""

from __future__ import annotations

from statistics import geometric_mean

from linforest_precond.study.listings import Cell, Column, Tables
from linforest_precond.study.number_formats import (
    NONE,
    count,
    digits3,
    one_digit,
    percent,
    two_digits,
    yes_no,
)
from linforest_precond.study.published import named_rows, published_number
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale.batches import BATCHES, RESIDENT
from linforest_precond.study.scale.graphs import why_not
from linforest_precond.study.scale.measures import METHODS

# Edges per matching of table 4.4, by the product of a rate with the time of table 4.1.
RATES = {"ld": ("ld_mmeps", "ld_gpu"), "sr": ("sr_mmeps", "sr_omp")}
# Which rows an iteration searches, and the name of the share of the iterations that search few.
RULES = {"searched": "few", "single": "few_single"}

TABLES = Tables()


def _mib(size: float) -> str:
    return f"{digits3(size / 2**20)} MiB"


def _millions(edges: float) -> str:
    return digits3(edges / 1e6)


def _mean_row(study: JsonObject) -> list[JsonObject]:
    row: JsonObject = {"name": Cell("geometric mean", best=True), "solver": ""}
    row |= {f"{method}_gap": Cell(one_digit(geometric_gap(study, method))) for method in METHODS}
    paper = two_digits(published_number("scale", "geometric mean", "ld_gap"))
    first = f"{METHODS[0]}_gap"
    return [row | {first: row[first]._replace(published=paper)}]


GRAPH = Column("name", "Graph")


@TABLES.listing(
    GRAPH,
    Column(lambda row: row["solver"] or row.get("reason") or "", "Exact matching"),
    "solver",
    "reason",
    "weight",
    "seconds",
    Column(f"{METHODS[0]}_gap", METHODS[0].replace("_", " "), one_digit, "paper_ld_gap"),
    *(Column(f"{method}_gap", method, one_digit) for method in METHODS[1:]),
    "paper",
    "paper_ld_gap",
    closing=_mean_row,
    missing=NONE,
    name="optimum",
)
def distances(study: JsonObject) -> list[JsonObject]:
    """Distance from the maximum weight in %, as in table 4.2."""
    return [
        {"name": case, "paper": case.get("paper"), **case["optimum"]}
        | {"paper_ld_gap": published_number("scale", case.get("paper"), "ld_gap")}
        | {f"{method}_gap": gap for method, gap in case["optimum"]["gaps"].items()}
        for case in done(study, "optimum")
    ]


def geometric_gap(study: JsonObject, method: str = "locally_dominant") -> float | None:
    """The geometric mean of the distances from the maximum, as the thesis averages; None without any."""
    gaps = [row.get(f"{method}_gap") or 0.0 for row in distances(study)]
    positive = [gap for gap in gaps if gap > 0]
    return geometric_mean(positive) if positive else None


@TABLES.listing(
    GRAPH,
    Column("edges", "Matched edges", count),
    Column("whole", "Whole", digits3, "paper_rate"),
    Column("suitor", "Suitor", digits3),
    *(Column(str(number), f"{number} batches", digits3) for number in BATCHES),
    Column("same", "Same", yes_no),
    csv=False,
)
def rates(study: JsonObject) -> list[JsonObject]:
    """Table 4.4: rates of the whole graph, of suitor, and by the number of batches; the report's rows."""
    return [
        {"name": case, "edges": found["edges"], "suitor": found["suitor"]["mmeps"]}
        | {"whole": found["whole"]["mmeps"], "same": all(each["same"] for each in found["batched"].values())}
        | {"paper_rate": published_number("scale", case.get("paper"), "ld_mmeps")}
        | {number: each["mmeps"] for number, each in found["batched"].items()}
        for case in done(study, "batches")
        for found in (case["batches"],)
    ]


@TABLES.listing("name edges batches seconds pinned mmeps largest_batch sent bound same", name="batches")
def times(study: JsonObject) -> list[JsonObject]:
    """Times and rates by the number of batches, as in table 4.4."""
    return [
        {"name": case, "edges": case["batches"]["edges"], "batches": name, **found}
        for case in done(study, "batches")
        for name, found in (
            *((key, case["batches"][key]) for key in RESIDENT.values() if key in case["batches"]),
            *case["batches"]["batched"].items(),
        )
    ]


@TABLES.listing(
    GRAPH,
    Column("augmented", "Augmented", digits3),
    *(
        Column(f"{field}_{number}", (f"{number} batch{'es' if number > 1 else ''}", heading), digits3)
        for number in BATCHES
        for field, heading in (("streamed", "pageable"), ("pinned", "pinned"), ("link", "bound"))
    ),
    missing=NONE,
)
def ratios(study: JsonObject) -> list[JsonObject]:
    """Times over that of the locally dominant matching of the whole graph on the device.

    ``streamed``: from pageable memory; ``link``: of nothing but the copies.
    """
    rows = []
    for case in done(study, "batches"):
        found, row = case["batches"], {"name": case}
        whole = found["whole"]["seconds"]
        times = {"augmented": found.get("augmented", {}).get("seconds")}
        for number, each in found["batched"].items():
            times |= {f"streamed_{number}": each["seconds"], f"pinned_{number}": each.get("pinned")}
            times[f"link_{number}"] = each["sent"] / found["link"] if each.get("sent") else None
        rows.append(row | {key: value and value / whole for key, value in times.items()})
    return rows


@TABLES.listing(
    GRAPH,
    Column("occupancy", "Occupancy", percent),
    Column("link", "Link, GB/s", digits3),
    Column("graph", "Size", _mib),
    *(
        Column(f"{field}_{number}", f"{word}, {number}", show)
        for number in BATCHES
        for field, word, show in (("sent", "Sent", _mib), ("bound", "Bound", digits3))
    ),
    missing=NONE,
    csv=False,
)
def bounds(study: JsonObject) -> list[JsonObject]:
    """The bytes that matchings in batches copy to the GPU, and the rates that the link allows for them."""
    return [
        {"name": case, "link": found["link"] / 1e9, "graph": found["size"], "occupancy": found["occupancy"]}
        | {
            f"{field}_{number}": each[field]
            for number, each in found["batched"].items()
            for field in ("sent", "bound")
        }
        for case in done(study, "batches")
        for found in (case["batches"],)
        if found.get("link")
    ]


@TABLES.listing(
    Column("graph", "Graph"),
    Column("vertices", "Vertices", digits3),
    Column("edges", "Edges", digits3),
    Column("name", "Largest here"),
    Column("own_vertices", "Vertices here", digits3),
    Column("own_edges", "Edges here", digits3),
    Column("reason", "Why not itself"),
    missing=NONE,
    csv=False,
)
def sizes(study: JsonObject) -> list[JsonObject]:
    """The graphs of table 4.1, the largest of this study that each is, or that stands for it, and why."""
    rows = []
    for graph, row in named_rows("scale").items():
        if "edges" not in row:
            continue
        cases = [case for case in done(study) if case.get("paper") == graph]
        largest = max(cases, key=lambda case: case["nnz"], default=None)
        itself = any(case["at_paper_size"] for case in cases)
        found = {"graph": graph, "itself": itself, "reason": NONE if itself else why_not(graph)}
        found |= {key: row[key] for key in ("vertices", "edges")}
        if largest:
            own = {"own_vertices": largest["rows"], "own_edges": largest["nnz"] / 2}
            found |= {"name": largest, **own}
        rows.append(found)
    return rows


@TABLES.listing(
    GRAPH,
    Column("rounds", "Iterations", count),
    Column("searched", "Edges in all", digits3),
    Column("few", "Iterations with few", percent),
    Column("single", "Edges in all, thesis' rule", digits3),
    Column("few_single", "Iterations with few, thesis' rule", percent),
    missing=NONE,
)
def visits(study: JsonObject) -> list[JsonObject]:
    """Figure 4.8: visited edges, in multiples of the graph's, and iterations that visit few of them."""
    return [
        {"name": case, "rounds": len(found["searched"])}
        | {key: sum(found[key]) / found["entries"] for key in RULES}
        | {name: share_of_few(found, key) for key, name in RULES.items()}
        for case in done(study, "visits")
        for found in (case["visits"],)
        if found["searched"]
    ]


def share_of_few(found: JsonObject, rule: str) -> float:
    """The share of the iterations that visit fewer edges than the thesis' limit."""
    limit = published_number("scale", "figure 4.8", "few_edges") / 100 * found["entries"]
    return sum(each < limit for each in found[rule]) / len(found[rule])


@TABLES.listing(
    GRAPH,
    Column("graph", "Size", _mib),
    Column("given", "Given", _mib),
    Column("batches", "Batches", count),
    Column("peak", "Peak", _mib),
    Column("same", "Same matching", yes_no),
)
def memory(study: JsonObject) -> list[JsonObject]:
    """Graphs larger than the memory given to them, in bytes."""
    return [{"name": case, **case["memory"]} for case in done(study, "memory")]


def implied_edges(row: dict[str, float], code: str) -> float | None:
    """Matched edges that a printed rate (table 4.4) and time (table 4.1) imply together."""
    rate, seconds = RATES[code]
    return 1e6 * row[rate] * row[seconds] if rate in row and seconds in row else None


@TABLES.listing(
    Column("graph", "Graph"),
    Column("vertices", "Vertices", digits3),
    Column("edges", "Edges", digits3),
    Column("ld_gpu", "LD-GPU, s", digits3),
    Column("gpus", "GPUs", count),
    Column("sr_omp", "SR-OMP, s", digits3),
    Column("ld_mmeps", "LD-GPU, MMEPS", digits3),
    Column("sr_mmeps", "SR-OMP, MMEPS", digits3),
    Column("ld", "Matched edges, LD-GPU", _millions),
    Column("sr", "Matched edges, SR-OMP", _millions),
    missing=NONE,
    csv=False,
)
def printed(study: JsonObject) -> list[JsonObject]:
    """Tables 4.1 and 4.4, and the matched edges that they imply."""
    return [
        {"graph": graph, **row} | {code: implied_edges(row, code) for code in RATES}
        for graph, row in named_rows("scale").items()
        if "edges" in row
    ]
