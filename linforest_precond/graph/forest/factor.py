"""The parallel [0,n]-factor: propose the heaviest edges, confirm what both ends proposed, repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from linforest_precond.backends.annotations import Auto, Charge, MatrixLike, Ties
from linforest_precond.backends.arguments import as_choice, as_integer, as_number
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.checked import Begin, CheckedMatrix, checked
from linforest_precond.matrix.graphs import Begun, Graph
from linforest_precond.records.forest import Factor

# The largest number of iterations for "auto".
AUTOMATIC_LIMIT = 20
# More iterations are never made: kernels count in 64-bit integers.
LARGEST_LIMIT = 2**62
# The hashes that charges are drawn by, and the orders among equal weights.
CHARGES = "splitmix64", "md5"
TIES = "auto", "index", "random"


@named_arguments
def factor(
    A: MatrixLike,
    n: int = 2,
    *,
    iterations: int | Literal["auto"] | None = "auto",
    m: int = 5,
    k_m: int = 0,
    p: float = 0.5,
    seed: int = 0,
    charge: Charge = "splitmix64",
    ties: Ties = "auto",
) -> Factor:
    """Find a [0,n]-factor of A's graph with a large weight.

    Algorithm 2 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted Graph on
    GPUs" (2022), doi:10.1145/3545008.3545035. In every iteration each vertex with fewer than n edges
    proposes along its heaviest free ones; an edge proposed from both ends is confirmed. In charged
    iterations vertices propose only to the opposite charge, drawn anew each time. The same input and
    seed give the same factor on every device and for any number of threads.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Edge weights are magnitudes; where they are not symmetric,
        ``|A| + |A|^T`` is used.
    n : int
        Largest degree, 1 to 4.
    iterations : int, "auto" or None
        Largest number of iterations. "auto" makes five, and goes on while an iteration adds more than 1 % of
        the edges, up to 20. 5 is the paper's setting: its coverages are those after five iterations. None
        goes on until the factor is maximal.
    m, k_m : int
        Charging is off in iteration k when ``k % m == k_m``.
    p : float
        Probability of a positive charge. With 0 or 1, charged iterations add no edges.
    seed : int
        Seed of the charges, and of the order among equal weights where that is random.
    charge : {"splitmix64", "md5"}
        The hash that charges are drawn by. "md5": the MD5 digest of 24 bytes, vertex, iteration k and seed
        (modulo 2**64) as unsigned 64-bit little-endian integers; the charge is positive where the first 8
        bytes of the digest, as such an integer u, have ``u >> 11 < floor(p * 2**53)``. The paper takes a part
        of MD5, after Fagginger Auer & Bisseling (2012), doi:10.1007/978-3-642-30397-5_10. The default costs a
        twentieth of the operations, and its charges are as good.
    ties : {"auto", "index", "random"}
        The order among edges of equal weight. "index": by (smaller end, larger end), so that a vertex prefers
        its lower neighbours. "random": by a hash of the edge and `seed`, one order for all iterations, as
        tiny random changes of the weights would give it. "auto": by index in uncharged iterations, and by a
        hash that is drawn anew in each charged one.

    Returns
    -------
    Factor
        On A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> f = lf.graph.factor(lf.matrices.aniso(1, 100), n=2)
    >>> print(f)
    [0,2]-factor
      vertices    10,000
      edges       9,985
      coverage    0.6690 of the off-diagonal weight
      iterations  5 (not proven maximal)
    """
    options = check_options(n, iterations, m, k_m, p, seed, charge, ties)
    return propose_factor(checked(A, shared=True, begin=begin_factor(options)).graph, options)


@dataclass(frozen=True)
class FactorOptions:
    """The checked options of `factor`, as the backends take them; the seed modulo 2**64."""

    n: int
    limit: int | None  # the most iterations; None for any number
    automatic: bool  # fewer iterations where they add few edges
    m: int
    k_m: int
    threshold: int  # p as an integer, compared with 53 bits of a hash: exact on every device
    seed: int
    charge: str
    ties: str


class BlockKeywords(TypedDict, total=False):
    """Options of `factor` that functions pass on by name; those of blocks have an m of their own."""

    iterations: int | Auto | None
    k_m: int
    p: float
    seed: int
    charge: str
    ties: str


class FactorKeywords(BlockKeywords, total=False):
    m: int


def check_options(
    n: Any,
    iterations: Any = "auto",
    m: Any = 5,
    k_m: Any = 0,
    p: Any = 0.5,
    seed: Any = 0,
    charge: Any = "splitmix64",
    ties: Any = "auto",
) -> FactorOptions:
    """Check the options of a factor; the defaults are those of `factor`."""
    n = as_integer("n", n, 1, 4)
    automatic = isinstance(iterations, str)
    if automatic and iterations != "auto":
        raise ValueError(f'iterations must be an integer, "auto" or None, got {iterations!r}')
    limit = AUTOMATIC_LIMIT if automatic else None
    if limit is None and iterations is not None:
        limit = min(as_integer("iterations", iterations), LARGEST_LIMIT)
    if limit is not None and limit < 1:
        raise ValueError(f"iterations must be at least 1, got {limit}; None goes on until maximal")
    m = as_integer("m", m, 1, 2**31 - 1)
    k_m = as_integer("k_m", k_m, 0, m - 1)
    p = as_number("p", p)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    return FactorOptions(
        n,
        limit,
        automatic,
        m,
        k_m,
        threshold=math.floor(p * 2.0**53),
        seed=as_integer("seed", seed) % 2**64,
        charge=as_choice("charge", charge, CHARGES),
        ties=as_choice("ties", ties, TIES),
    )


# The most iterations of one call of the backends.
MOST_ITERATIONS = 1000


def begin_factor(options: FactorOptions) -> Begin | None:
    """The launch of a factor of the expected graph; None where the host has to count iterations."""
    if options.limit is None or options.limit > MOST_ITERATIONS:
        return None

    def begin(graph: Graph, report: Any) -> Begun:
        arrays = graph.backend.forest.factor.propose_factor(graph, **vars(options), report=report)
        return Begun(options, graph.values, graph.longest_row, arrays)

    return begin


def propose_factor(graph: Graph, options: FactorOptions) -> Factor:
    """The factor of a checked graph, with checked options."""
    backend = graph.backend
    arrays = graph.take_begun(options)
    if arrays is None:
        arrays = backend.forest.factor.propose_factor(graph, **vars(options))
    neighbors, values, slots, progress = arrays
    own_slots = slots if graph.slots_are_matrix else None
    return Factor(neighbors, values, own_slots, progress, graph.total_weight, graph.scale)


@dataclass(frozen=True)
class PropositionTimes:
    """The times of the proposition of one iteration; none where the factor is maximal before it."""

    seconds: tuple[float, ...]
    vertices: int  # vertices that propose: those with a free edge
    counted_bytes: int  # the count of the paper for all rows (table 2)


def proposition_times(graph: Graph, n: int, k: int, repeats: int = 10) -> PropositionTimes:
    """Time the proposition of iteration k without charging (m = 1), by the kernel's own clock on the GPU."""
    if not 0 <= k < MOST_ITERATIONS:
        raise ValueError(f"k must lie in [0, {MOST_ITERATIONS}), got {k}")
    seconds, vertices = graph.backend.forest.factor.proposition_times(graph, n, k, repeats)
    return PropositionTimes(tuple(seconds), vertices, counted_bytes(graph, n, k))


def counted_bytes(graph: Graph, n: int, k: int) -> int:
    """Bytes of a proposition by table 2: matrix and charges read, proposals and their weights written."""
    entries, index, weight = graph.indices.size, graph.indices.dtype.itemsize, graph.values.dtype.itemsize
    matrix = entries * (index + weight) + (graph.n + 1) * index
    edges = n * graph.n * (index + weight) + (n * graph.n * index if k > 0 else 0)
    return int(matrix + graph.n + edges)


# The total orders among equal weights.
GREEDY_TIES = "index", "random"


@named_arguments
def greedy_factor(A: MatrixLike | CheckedMatrix, n: int = 2, *, ties: str = "index", seed: int = 0) -> Factor:
    """Take the edges by decreasing weight, each whose ends both have fewer than n edges.

    Algorithm 1 of Klein & Strzodka (2022), doi:10.1145/3545008.3545035.
    ``factor(A, n, m=1, iterations=None, ties=ties, seed=seed)`` gives the same edges.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    n : int
        Largest degree, 1 to 4.
    ties : {"index", "random"}
        The order among edges of equal weight: by (smaller end, larger end), or by a hash of the edge and
        `seed`, as tiny random changes of the weights would give it. Ties by index pair the couplings along a
        grid line perfectly.
    seed : int
        Seed of a random order.

    Returns
    -------
    Factor
        Maximal, with ``iterations`` 1: one sweep over the edges.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> round(lf.graph.greedy_factor(lf.matrices.aniso(1, 100), n=2).coverage, 2)
    0.67
    """
    options = check_options(n, seed=seed)
    ties = as_choice("ties", ties, GREEDY_TIES)
    graph = checked(A).graph
    factor = graph.backend.forest.factor
    neighbors, values, slots = factor.greedy_factor(graph, options.n, ties, options.seed)
    own_slots = slots if graph.slots_are_matrix else None
    return Factor(neighbors, values, own_slots, (1, True), graph.total_weight, graph.scale)
