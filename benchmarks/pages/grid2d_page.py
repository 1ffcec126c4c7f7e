"""The page docs/distributed_2d.md: chapter 6 of Mandulak's thesis, and what `grid2d.py` measures."""

from __future__ import annotations

import math
import textwrap

from benchmarks.pages.grid2d import ITERATIONS, REPEATS, ROOT
from benchmarks.pages.grid2d_text import COVERAGE, INTRODUCTION, LAYOUT, LIMITS
from linforest_precond.study import drawing

DOCUMENT = ROOT / "docs" / "distributed_2d.md"
FIGURES = ROOT / "docs" / "distributed_2d"
FULL_NAMES = {
    "BFS": "breadth-first search",
    "PR": "PageRank",
    "CC": "connected components",
    "LP": "label propagation",
    "MWM": "matching",
    "PJ": "pointer jumping",
}


def page(data) -> str:
    parts = [INTRODUCTION, LAYOUT, *(section(data) for section in SECTIONS), LIMITS, COVERAGE]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def write(data) -> None:
    FIGURES.mkdir(exist_ok=True)
    for name, draw in {"round": draw_round, "scaling": draw_scaling}.items():
        (FIGURES / f"{name}.svg").write_text(drawing.as_svg(draw(data)) + "\n", encoding="utf-8")
    DOCUMENT.write_text(page(data), encoding="utf-8")


def table(head, lines) -> str:
    rows = [head, ["---"] + ["---:"] * (len(head) - 1), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def named(p) -> str:
    return "1 rank" if p == 1 else f"{p} ranks"


def kilobytes(count) -> str:
    return f"{count / 1000:,.1f}"


def one_round(data) -> str:
    n = 2 ** data["scale"]
    lines = [
        [
            seen["p"],
            seen["calls"],
            f"{seen['row_messages']:,}",
            kilobytes(seen["bytes"]),
            kilobytes(24 * n / math.sqrt(seen["p"])),
            kilobytes(seen["row_bytes"]),
        ]
        for seen in data["rounds"]
    ]
    head = [
        "ranks",
        "2D: calls of all ranks",
        "rows: messages",
        "2D: kB of a rank",
        "24 n / √p",
        "rows: kB of a rank",
    ]
    return f"""## Messages and bytes of a round

Section 6.3.2: a group of √p ranks needs O(√p) messages, there are √p groups in each direction, hence O(p)
messages in all, where an exchange of ghosts between rows needs O(p²); in return a rank has O(n / √p)
states to pass instead of O((n + m) / p). Counted here for one dense round of PageRank on R-MAT of scale
{data["scale"]} (n = {n:,}, {data["edges"]:,} entries), √p x √p ranks, beside the exchange of ghosts
(`Matrix.halo`) of the same matrix by rows:

{table(head, lines)}

A round is 3 calls of each rank: an allreduce in its column group, a broadcast in its row group, and one
of all ranks for the change and the mass of dangling vertices. By trees, a broadcast in a group of g ranks
is g - 1 messages and an allreduce 2 (g - 1), so all ranks together send fewer than 5 p. A column vertex
takes 16 bytes (two integers, so that sums are exact), a row vertex 8. Rows pass fewer bytes for these p, as
the chapter says of them; their messages are what does not scale.

![Left: messages by ranks, linear on the grid and quadratic by rows. Right: bytes of a rank in one round,
falling as one over the square root of the ranks on the grid](distributed_2d/round.svg)"""


def scaling(data) -> str:
    sides = [seen["p"] for seen in data["strong"]["BFS"]]
    return f"""## Strong scaling (figures 6.3 and 6.8)

The same R-MAT graph on more ranks: kB of the rank that sends most, and all calls and messages of a rank
(mean). PageRank and label propagation do {ITERATIONS} iterations, the others run to the end, as in the
chapter.

{strong_table(data, sides)}

{strong_words(data)}

## Weak scaling (figure 6.4)

2^{data["weak_scale"]} vertices a rank, 16 drawn edges for each; kB of the rank that sends most.

{weak_table(data, sides)}

In the chapter, with 2^24 vertices and 2^28 edges a rank, times just less than double with four times the
ranks, as √p does; BFS is the exception (its single rank is faster). Here the bytes of PageRank double
exactly: n / √p doubles.

![Left: bytes of a rank with more ranks on the same graph. Right: with graphs that grow with the
ranks](distributed_2d/scaling.svg)"""


def strong_table(data, sides) -> str:
    lines = []
    for name, seen in data["strong"].items():
        sent = [kilobytes(one["bytes"]) for one in seen]
        calls = [f"{(one['calls'] + one['messages']) / one['p']:.0f}" for one in seen]
        lines.append([f"{name}, {FULL_NAMES[name]}", *sent, *calls])
    head = ["", *(f"{named(p)}, kB" for p in sides), *(f"{p}, calls" for p in sides)]
    return table(head, lines)


def strong_words(data) -> str:
    last = {name: seen[-2]["bytes"] / seen[-1]["bytes"] for name, seen in data["strong"].items()}
    before, after = (data["strong"]["PR"][place]["p"] for place in (-2, -1))
    ratios = ", ".join(f"{ratio:.2f} ({name})" for name, ratio in last.items())
    allowed = math.sqrt(after / before)
    words = f"""From {before} to {after} ranks a rank sends fewer bytes by the factors {ratios}; √p allows
{allowed:.0f}. In the chapter, times fall by 3 to 4 from 16 to 256 GPUs, where √p allows 4, and by about 2
from 100 to 400 on WDC12, where it allows 2; MWM and PJ level off earlier."""
    return textwrap.fill(words, 105)


def weak_table(data, sides) -> str:
    lines = [
        [f"{kind}, {name}", *(kilobytes(one["bytes"]) for one in seen)]
        for kind, found in data["weak"].items()
        for name, seen in found.items()
    ]
    sizes = (f"{named(p)}, n = 2^{round(math.log2(p)) + data['weak_scale']}" for p in sides)
    return table(["", *sizes], lines)


def times(data) -> str:
    machine = data["machine"]
    strong, weak = (times_table(data[name]) for name in ("strong_times", "weak_times"))
    return f"""## Times of ranks of MPI

Seconds of the slowest rank, in parentheses those in calls of its groups (waiting included); the least of
{REPEATS} runs on {machine["cores"]} cores that other programs share ({machine["system"]}, Python
{machine["python"]}, NumPy {machine["numpy"]}). 4 ranks share the cores, and MPI waits actively: these
times say that the programs run, not how they scale. 2 ranks are a grid of 1 x 2.

R-MAT of scale {data["strong_times"][0]["scale"]}:

{strong}

R-MAT with {2 ** data["weak_times"][0]["scale"]:,} vertices a rank:

{weak}"""


def times_table(found) -> str:
    lines = [
        [name, *(f"{one['seconds'][name][0]:.3f} ({one['seconds'][name][1]:.3f})" for one in found)]
        for name in found[0]["seconds"]
    ]
    return table(["", *(named(one["p"]) for one in found)], lines)


def variants(data) -> str:
    lines = [
        [
            f"{kind}: {one['name']}",
            one["rounds"],
            one["dense"],
            f"{one['edges']:,}",
            kilobytes(one["bytes"]),
            one["calls"] // one["p"],
        ]
        for kind, found in data["variants"].items()
        for one in found
    ]
    head = [
        "connected components",
        "rounds",
        "dense ones",
        "edges visited",
        "kB of a rank",
        "calls of a rank",
    ]
    p = data["variants"]["R-MAT"][0]["p"]
    return f"""## Sparse exchanges and vertex queues (figure 6.6)

Connected components on {p} ranks, with the optimizations of the chapter one after the other. The result
is the same.

{table(head, lines)}

In the chapter all together make CC faster by an order of magnitude on graphs of billions of edges. Here,
on graphs with few rounds, the switch saves bytes against both exchanges, and the queue saves edges; the
queue of a pull costs bytes of its own, because the neighbours of changed vertices must be made known to
their row groups. Push needs neither, and is the default."""


def shapes(data) -> str:
    best = min(one["bytes"] for one in data["shapes"])
    lines = [
        [
            f"{one['shape'][0]} x {one['shape'][1]}",
            kilobytes(one["bytes"]),
            f"{one['bytes'] / best:.2f}",
            one["calls"] // one["p"],
            f"{one['balance']:.2f}",
        ]
        for one in data["shapes"]
    ]
    head = ["R x C", "kB of a rank", "in units of the least", "calls of a rank", "edges, most / mean"]
    return f"""## Grids that are not square (figure 6.7)

Connected components (push) on {data["shapes"][0]["p"]} ranks. In the chapter 16 x 16 is the best of 256,
and (32, 8) takes about 1.4 times as long.

{table(head, lines)}

A pushed state is combined in column groups of R ranks with n / C states, and spread in row groups of C
ranks with n / R states. A piece is broadcast by each rank that has it, so wide grids call more often."""


def balances(data) -> str:
    names = "striped", "blocks", "random"
    lines = [[kind, *(f"{found[name]:.2f}" for name in names)] for kind, found in data["balance"].items()]
    return f"""## Load balance

The most edges of a rank in units of the mean, 8 x 8 ranks, by the distribution of vertices: striped (the
default), in blocks of consecutive vertices, and in blocks after a random permutation, which is here only
measured.

{table(["graph", *names], lines)}

The chapter finds stripes about as good as random. That holds for graphs whose numbering has no period. In
a mesh of which a side is a multiple of the number of stripes, a vertex and its neighbour one line further
are in the same stripe, and few blocks have all edges; blocks are no better there, because neighbours are
close."""


SECTIONS = one_round, scaling, times, variants, shapes, balances


@drawing.styled
def draw_round(data):
    figure, (left, right) = drawing.panels(2, width=4.8)
    p = [seen["p"] for seen in data["rounds"]]
    more = [one for one in data["rounds"] if one["p"] > 1]
    left.plot(p, [one["calls"] for one in data["rounds"]], "o-", color=drawing.STAGES[0], label="2D, calls")
    left.plot(
        [one["p"] for one in more],
        [one["row_messages"] for one in more],
        "s-",
        color=drawing.STAGES[5],
        label="rows, messages",
    )
    left.plot(p[1:], [q * (q - 1) for q in p[1:]], ":", color=drawing.GREY, label="p (p - 1)")
    n = 2 ** data["scale"]
    right.plot(p, [one["bytes"] for one in data["rounds"]], "o-", color=drawing.STAGES[0], label="2D")
    right.plot(
        [one["p"] for one in more],
        [one["row_bytes"] for one in more],
        "s-",
        color=drawing.STAGES[5],
        label="rows",
    )
    right.plot(p, [24 * n / math.sqrt(q) for q in p], ":", color=drawing.GREY, label="24 n / √p")
    _finish(left, "messages of all ranks in a round")
    _finish(right, "bytes of the busiest rank in a round")
    return figure


@drawing.styled
def draw_scaling(data):
    figure, (left, right) = drawing.panels(2, width=4.8)
    for place, (name, seen) in enumerate(data["strong"].items()):
        _line(left, seen, name, drawing.colour_of_case(place))
    series = [
        (f"{kind}, {name}", seen) for kind, found in data["weak"].items() for name, seen in found.items()
    ]
    for place, (name, seen) in enumerate(series):
        _line(right, seen, name, drawing.colour_of_case(place))
    sides = [one["p"] for one in data["strong"]["PR"]]
    first, least = data["strong"]["PR"][0]["bytes"], data["weak"]["RMAT"]["PR"][0]["bytes"]
    left.plot(sides, [first / math.sqrt(p) for p in sides], ":", color=drawing.GREY, label="1 / √p")
    right.plot(sides, [least * math.sqrt(p) for p in sides], ":", color=drawing.GREY, label="√p")
    _finish(left, "strong: bytes of the busiest rank")
    _finish(right, "weak: bytes of the busiest rank")
    return figure


def _line(ax, seen, name, colour):
    ax.plot([one["p"] for one in seen], [one["bytes"] for one in seen], "o-", color=colour, label=name)


def _finish(ax, title):
    drawing.decades(ax)
    ax.set_title(title)
    ax.set_xlabel("ranks")
    ax.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
