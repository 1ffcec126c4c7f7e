"""What a backend offers: the same rooms with the same functions on the CPU and on the GPU.

A class for every module that code above the backends calls, and one for every room. A test compares both
backends with these classes, names of arguments included. `CSRRecord`, `GraphRecord`, `ForestRecord` and
`PatternRecord` are what the backends read of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from linforest_precond.annotations import Array, DType
from linforest_precond.backends.batch_options import BatchOptions
from linforest_precond.backends.returns import (
    BandSlots,
    EntryScan,
    ForestArrays,
    NumberedPaths,
    PatternScan,
    RowFacts,
    SampledRows,
    TrafficScan,
    ValueScan,
)

CSRArrays: TypeAlias = tuple[Array, Array, Array]  # indptr, indices, data


class PatternRecord(Protocol):
    """What the backends read of a `records.Pattern`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def indices(self) -> Array: ...
    @property
    def n(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def longest_row(self) -> int: ...


class CSRRecord(PatternRecord, Protocol):
    """What the backends read of a `records.CSR`."""

    @property
    def data(self) -> Array: ...
    @property
    def diagonal(self) -> Array: ...
    @property
    def symmetric(self) -> bool: ...


class GraphRecord(Protocol):
    """What the backends read of a `records.Graph`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def indices(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def n(self) -> int: ...
    @property
    def longest_row(self) -> int: ...


class ForestRecord(Protocol):
    """What the backends read of a `records.Forest`."""

    @property
    def path_id(self) -> Array: ...
    @property
    def position(self) -> Array: ...
    @property
    def order(self) -> Array: ...
    @property
    def rank(self) -> Array: ...


class Stopwatch(Protocol):
    """A running measurement of time; on the GPU, of the work on the current stream."""

    def stop(self) -> None: ...
    def milliseconds(self) -> float: ...


class PrefetchModule(Protocol):
    def prefetch(self, call: str, *facts: Any) -> None: ...


class StopwatchModule(Protocol):
    def Stopwatch(self) -> Stopwatch: ...  # noqa: N802


class StreamsModule(Protocol):
    def current(self) -> Any: ...
    def handle(self) -> object: ...
    def finish(self) -> None: ...
    def finish_all(self) -> None: ...


class RuntimeRoom(Protocol):
    prefetch: PrefetchModule
    stopwatch: StopwatchModule
    streams: StreamsModule


class EntriesModule(Protocol):
    def scan(self, indptr: Array, indices: Array, data: Array, scale: float = 1.0) -> EntryScan: ...
    def canonical(self, rows: Array, cols: Array, data: Array, n: int, index_dtype: DType) -> CSRArrays: ...
    def sort_entries(self, rows: Array, cols: Array, n: int) -> tuple[Array, Array]: ...
    def row_of(self, indptr: Array, slot: int) -> int: ...
    def rows_of(self, indptr: Array, count: int) -> Array: ...
    def transposed(
        self, indptr: Array, indices: Array, data: Array, width: int | None = None
    ) -> CSRArrays: ...
    def transposed_values(
        self, indptr: Array, indices: Array, data: Array, width: int, pattern: tuple[Array, Array]
    ) -> Array: ...
    def magnitudes(self, data: Array) -> Array: ...
    def symmetrized(
        self, indptr: Array, indices: Array, weights: Array
    ) -> tuple[Array, Array, Array, bool]: ...


class PatternScanModule(Protocol):
    def scan_pattern(self, indptr: Array, indices: Array) -> PatternScan: ...


class PatternDigestModule(Protocol):
    def digest(self, arrays: Sequence[Array]) -> Array: ...


class SumsModule(Protocol):
    def tree_sum(self, x: Array, scale: float = 1.0) -> float: ...
    def tree_sums(self, arrays: Sequence[Array], scale: float = 1.0) -> list[float]: ...


class SparseProductsModule(Protocol):
    def multiply(self, left: CSRArrays, right: CSRArrays, width: int) -> CSRArrays: ...
    def multiply_and_plan(self, left: CSRArrays, right: CSRArrays, width: int) -> tuple[CSRArrays, Any]: ...
    def multiply_again(self, plan: Any, left: CSRArrays, right: CSRArrays, width: int) -> CSRArrays: ...


class ConversionModule(Protocol):
    def converted(self, arrays: Sequence[Array], dtype: DType) -> list[Array]: ...


class LogScalingModule(Protocol):
    UNIT: int
    NO_WEIGHT: int

    def fixed_logarithms(self, magnitudes: Array) -> Array: ...
    def powers(self, exponents: Array) -> Array: ...
    def maxima(self, indptr: Array, indices: Array, weights: Array) -> tuple[Array, Array]: ...
    def equilibrated(
        self, indptr: Array, indices: Array, weights: Array, iterations: int
    ) -> tuple[Array, Array]: ...


class RowScalingModule(Protocol):
    def scaled_matrix(
        self, indptr: Array, indices: Array, data: Array, order: Array | None, row: Array, column: Array
    ) -> CSRArrays: ...
    def gather_scaled(self, b: Array, x: Array, order: Array | None, factors: Array) -> None: ...
    def scatter_scaled(self, b: Array, x: Array, order: Array | None, factors: Array) -> None: ...


class DiagonalBlocksModule(Protocol):
    def gather(self, csr: CSRRecord, block_size: int) -> Array: ...
    def invert(self, blocks: Array) -> tuple[Array, Array]: ...
    def apply(self, inverse: Array, b: Array, x: Array, transpose: bool) -> None: ...


class MatrixRoom(Protocol):
    conversion: ConversionModule
    entries: EntriesModule
    pattern_scan: PatternScanModule
    pattern_digest: PatternDigestModule
    sums: SumsModule
    sparse_products: SparseProductsModule
    diagonal_blocks: DiagonalBlocksModule
    log_scaling: LogScalingModule
    row_scaling: RowScalingModule


class FactorModule(Protocol):
    def propose_factor(
        self,
        graph: GraphRecord,
        n: int,
        limit: int | None,
        automatic: bool,
        m: int,
        k_m: int,
        threshold: int,
        seed: int,
        charge: str = "splitmix64",
        ties: str = "auto",
    ) -> tuple[Array, Array, Array, Array]: ...
    def proposition_times(
        self, graph: GraphRecord, n: int, k: int, repeats: int
    ) -> tuple[list[float], int]: ...


class GreedyModule(Protocol):
    def greedy_factor(
        self, graph: GraphRecord, n: int, ties: str = "index", seed: int = 0
    ) -> tuple[Array, Array, Array]: ...


class LinearForestModule(Protocol):
    def linear_forest(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> ForestArrays: ...
    def most_lost(self, neighbors: Array, values: Array) -> Array: ...


class BidirectionalScanModule(Protocol):
    def linear_forest(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> ForestArrays: ...
    def break_cycles(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> tuple[Array, Array, Array | None, Any]: ...
    def label_paths(self, neighbors: Array) -> tuple[Array, Array, Array]: ...
    def scan_steps(self, n: int) -> int: ...


class OrderingModule(Protocol):
    def order_by_scan(self, path_id: Array, position: Array, lengths: Array) -> tuple[Array, Array]: ...
    def order_by_radix_sort(self, path_id: Array, position: Array, lengths: Array) -> tuple[Array, Array]: ...


class RecordChecksModule(Protocol):
    def rank_order(self, order: Array) -> tuple[Array, int]: ...
    def first_stray(self, neighbors: Array, rank: Array) -> int: ...
    def first_unpaired(self, neighbors: Array) -> int: ...


class PairsModule(Protocol):
    def pair_up(self, neighbors: Array) -> tuple[Array, Array]: ...
    def members_of(self, pairs: Array, members: Array) -> Array: ...
    def coarse_graph(self, graph: GraphRecord, members: Array, places: Array) -> Any: ...
    def heaviest_two(self, graph: GraphRecord) -> Array: ...


class PathPairsModule(Protocol):
    def drop_weak_edges(self, neighbors: Array, values: Array) -> tuple[Array, Array]: ...
    def number_paths(self, order: Array, rank: Array, position: Array, count: int) -> NumberedPaths: ...
    def sample_rows(self, graph: GraphRecord, paths: NumberedPaths) -> SampledRows: ...
    def partners(self, paths: NumberedPaths, samples: SampledRows, lines: ForestRecord) -> Array: ...


class BandsModule(Protocol):
    def extract(
        self, csr: CSRRecord, neighbors: Array, order: Array, values: Array | None, slots: Array | None
    ) -> tuple[Array, Array, Array]: ...
    def without_edges(self, graph: GraphRecord, neighbors: Array) -> Array: ...


class BandRefreshModule(Protocol):
    def find_slots(self, csr: CSRRecord, neighbors: Array, order: Array) -> BandSlots: ...
    def describe(self, indptr: Array, indices: Array, data: Array, slots: BandSlots) -> Any: ...
    def read_report(self, report: Any, dtype: DType) -> ValueScan: ...
    def gather(self, data: Array, slots: BandSlots) -> tuple[Array, Array, Array]: ...


class BlockBandsModule(Protocol):
    def extract(self, csr: CSRRecord, members: Array, starts_path: Array) -> tuple[Array, Array, Array]: ...


class ForestRoom(Protocol):
    factor: FactorModule
    greedy: GreedyModule
    linear_forest: LinearForestModule
    bidirectional_scan: BidirectionalScanModule
    ordering: OrderingModule
    record_checks: RecordChecksModule
    pairs: PairsModule
    path_pairs: PathPairsModule
    bands: BandsModule
    band_refresh: BandRefreshModule
    block_bands: BlockBandsModule


class MatchingModule(Protocol):
    """Locally dominant edges, or the suitor algorithm."""

    def match(self, graph: GraphRecord, tie_key: Any) -> tuple[Array, Array]: ...


class ProposalsModule(Protocol):
    def match(
        self, graph: GraphRecord, weighted: bool, threshold: int, seed: int, limit: int | None
    ) -> tuple[Array, Array]: ...


class MatchedEdgeValuesModule(Protocol):
    def matched_edge_values(self, graph: GraphRecord, mate: Array) -> Array: ...


class AggregatesModule(Protocol):
    def of_mates(self, graph: GraphRecord, mate: Array, tie_key: Any) -> tuple[Array, int]: ...
    def members_of(self, aggregates: Array, count: int) -> tuple[Array, Array]: ...


class AuctionModule(Protocol):
    def bid(
        self,
        indptr: Array,
        indices: Array,
        weights: Array,
        prices: Array,
        columns: Array,
        rows: Array,
        step: int,
        stop: int,
    ) -> Array: ...


class BalancingModule(Protocol):
    def balance(
        self,
        indptr: Array,
        indices: Array,
        weights: Array,
        matched: Array,
        columns: Array,
        prices: Array,
        iterations: int,
    ) -> None: ...


class MatchingRoom(Protocol):
    locally_dominant: MatchingModule
    suitor: MatchingModule
    proposals: ProposalsModule
    matched_edge_values: MatchedEdgeValuesModule
    aggregates: AggregatesModule
    auction: AuctionModule
    balancing: BalancingModule


class ComponentsModule(Protocol):
    """Union-find, or FastSV."""

    def weak_components(self, pattern: PatternRecord) -> tuple[int, Array]: ...


class StrongComponentsModule(Protocol):
    """SciPy on the CPU and signature propagation on the GPU, or forward-backward searches."""

    def strong_components(self, pattern: PatternRecord) -> tuple[int, Array]: ...


class BreadthFirstModule(Protocol):
    def bfs_levels(self, pattern: PatternRecord, source: int) -> Array: ...
    def breadth_first_order(
        self, pattern: PatternRecord, source: int, with_predecessors: bool
    ) -> tuple[Array, Array]: ...


class SpanningForestModule(Protocol):
    METHODS: tuple[str, ...]

    def spanning_forest(self, csr: CSRRecord, largest: bool, method: str) -> CSRArrays: ...


class IndependentSetModule(Protocol):
    def independent_set(self, pattern: PatternRecord, k: int, seed: int) -> Array: ...


class LubyModule(Protocol):
    def luby_set(self, pattern: PatternRecord, seed: int, fewest: int, patience: int) -> Array: ...


class ColoringModule(Protocol):
    def color_vertices(self, pattern: PatternRecord, largest_first: bool, seed: int) -> Array: ...


class DegreesModule(Protocol):
    def degrees(self, pattern: PatternRecord) -> Array: ...


class LabelPropagationModule(Protocol):
    def propagate_labels(self, pattern: PatternRecord, max_iter: int, seed: int) -> Array: ...


class PageRankModule(Protocol):
    def power_iteration(
        self,
        csr: CSRRecord,
        alpha: float,
        personalization: Array | None,
        dangling: Array | None,
        start: Array | None,
        max_iter: int,
        threshold: float,
    ) -> Any: ...


class TrafficModule(Protocol):
    def scan_links(
        self, indptr: Array, indices: Array, values: Array, width: int, pieces: Sequence[tuple[int, int]]
    ) -> TrafficScan: ...
    def pack_addresses(self, sources: Array, destinations: Array) -> Array: ...
    def merge_links(self, keys: Array, packets: Array | None) -> tuple[Array, Array]: ...
    def number_addresses(self, keys: Array) -> tuple[Array, Array, Array, Array]: ...


class TreeRootsModule(Protocol):
    def tree_roots(self, parents: Array) -> tuple[Array, int, int]: ...


class CsgraphRoom(Protocol):
    components: ComponentsModule
    fastsv: ComponentsModule
    strong_components: StrongComponentsModule
    forward_backward: StrongComponentsModule
    breadth_first: BreadthFirstModule
    spanning_forest: SpanningForestModule
    independent_set: IndependentSetModule
    luby: LubyModule
    coloring: ColoringModule
    degrees: DegreesModule
    label_propagation: LabelPropagationModule
    pagerank: PageRankModule
    traffic: TrafficModule
    tree_roots: TreeRootsModule


class CuthillMcKeeModule(Protocol):
    METHODS: tuple[str, ...]

    def order(
        self, pattern: PatternRecord, start: int | None, method: str, options: BatchOptions | None = None
    ) -> Array: ...
    def batch_profile(
        self, pattern: PatternRecord, start: int | None, options: BatchOptions | None = None
    ) -> tuple[Array, dict[str, int]]: ...


class GapMetricsModule(Protocol):
    UNIT: int

    def sorted_positions(self, indptr: Array, neighbours: Array, order: Array) -> Array: ...
    def log_sum(self, numbers: Array) -> int: ...


class RefinementModule(Protocol):
    def refine(
        self,
        indptr: Array,
        neighbours: Array,
        order: Array,
        candidates: Array,
        logarithmic: bool,
        max_degree: int,
        max_rounds: int,
    ) -> tuple[Array, int]: ...


class ReorderingRoom(Protocol):
    cuthill_mckee: CuthillMcKeeModule
    gap_metrics: GapMetricsModule
    refinement: RefinementModule


class TridiagonalMethod(Protocol):
    """A factored (block) tridiagonal system: sweeps without pivoting, or elimination with it."""

    nbytes_extra: int

    def solve_into(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None: ...


class PivotsModule(Protocol):
    def factor(
        self, lower: Array, diagonal: Array, upper: Array, perturb: bool = True
    ) -> tuple[Array, Array]: ...


class ClippingModule(Protocol):
    def clip(self, lower: Array, diagonal: Array, upper: Array) -> tuple[Array, Array, Array]: ...


class SweepsModule(Protocol):
    def Sweeps(self, lower: Array, inverse: Array, upper: Array, symmetric: bool) -> Any: ...  # noqa: N802


class PivotingModule(Protocol):
    def Pivoted(self, lower: Array, diagonal: Array, upper: Array, perturbed: int) -> Any: ...  # noqa: N802
    def PivotedBlocks(  # noqa: N802
        self, lower: Array, diagonal: Array, upper: Array, inverse: Array, perturbed: int
    ) -> Any: ...


class ExtrapolationModule(Protocol):
    def extrapolate(self, x: Array, z: Array, y: Array, momentum: float, factor: float) -> None: ...


class TridiagonalRoom(Protocol):
    pivots: PivotsModule
    clipping: ClippingModule
    sweeps: SweepsModule
    pivoting: PivotingModule
    extrapolation: ExtrapolationModule


class LevelScheduleModule(Protocol):
    def find_levels(self, pattern: PatternRecord, order: Array, rank: Array, most: int) -> Array | None: ...


class IncompleteFactorsModule(Protocol):
    def factorize(
        self,
        indptr: Array,
        indices: Array,
        data: Array,
        starts: Array,
        hermitian: bool,
        shift: float,
        weights: Array,
    ) -> tuple[CSRArrays, CSRArrays, Array, Array, Array]: ...


class TriangularModule(Protocol):
    def Substitution(  # noqa: N802
        self,
        lower: CSRArrays,
        inverse: Array,
        upper: CSRArrays,
        order: Array,
        starts: Array,
        sweeps: int | None,
    ) -> Any: ...


class IluRoom(Protocol):
    level_schedule: LevelScheduleModule
    incomplete_factors: IncompleteFactorsModule
    triangular: TriangularModule


class RowSystemsModule(Protocol):
    """Rows of sparse approximate inverses."""

    def grow(
        self,
        matrix: CSRArrays,
        start: CSRArrays,
        diagonal: Array,
        triangular: bool,
        entries: int,
        tolerance: float,
    ) -> tuple[CSRArrays, Array]: ...
    def refill(
        self,
        matrix: CSRArrays,
        start: CSRArrays,
        diagonal: Array,
        triangular: bool,
        indptr: Array,
        indices: Array,
    ) -> tuple[Array, Array]: ...
    def row_squares(self, indptr: Array, data: Array) -> Array: ...


class ApproximateInverseRoom(Protocol):
    row_systems: RowSystemsModule


class DenseModule(Protocol):
    def dense_matrix(self, csr: CSRRecord) -> Array: ...
    def definite_inverse(self, matrix: Array, stored: DType) -> Array | None: ...


class StrengthModule(Protocol):
    def weigh(self, csr: CSRRecord, strength: float) -> Array: ...
    def row_sums(self, csr: CSRRecord) -> tuple[Array, Array]: ...
    def row_facts(self, csr: CSRRecord, tolerance: float, tiny: float) -> RowFacts: ...


class GalerkinModule(Protocol):
    def coarse_matrix(
        self, csr: CSRRecord, aggregates: Array, indptr: Array, members: Array
    ) -> CSRArrays: ...
    def mirror_upper(self, indptr: Array, indices: Array, data: Array) -> None: ...


class NodeGraphModule(Protocol):
    def node_matrix(self, indptr: Array, indices: Array, data: Array, block_size: int) -> CSRArrays: ...


class TentativeModule(Protocol):
    def tentative_prolongator(
        self, node_numbers: Array, count: int, block_size: int, B: Array
    ) -> tuple[CSRArrays, Array]: ...
    def add_tentative(self, tentative: CSRArrays, weights: Array, product: CSRArrays) -> bool: ...
    def fill_dropped(self, coarse: Array, indptr: Array, indices: Array, data: Array) -> None: ...


class PathInterpolationModule(Protocol):
    def interpolate(
        self, neighbors: Array, positions: Array, sizes: Array, groups: Array, count: int
    ) -> tuple[Array, Array, Array, int]: ...


class SmoothedAggregationModule(Protocol):
    def aggregate(
        self, csr: CSRRecord, strength: float, seed: int, signed: bool = True
    ) -> tuple[Array, int, Any]: ...
    def smoothed_prolongator(
        self,
        csr: CSRRecord,
        strength: float,
        numbers: Array,
        count: int,
        signed: bool = True,
        strong: Any = None,
    ) -> tuple[CSRArrays, CSRArrays, Array]: ...
    def prolongator_values(
        self, csr: CSRRecord, numbers: Array, count: int, kept: Array, indptr: Array, indices: Array
    ) -> Array: ...
    def l1_weights(self, csr: CSRRecord, factor: float, stored: DType) -> Array: ...


class TransfersModule(Protocol):
    def restrict(self, indptr: Array, members: Array, fine: Array, coarse: Array) -> None: ...
    def prolong_add(self, aggregates: Array, coarse: Array, fine: Array) -> None: ...


class VectorOpsModule(Protocol):
    """The vector work of multigrid cycles; `matrix` is a `Matrix` of the same module."""

    MOST_COLUMNS: int

    def Matrix(  # noqa: N802
        self, indptr: Array, indices: Array, data: Array, longest_row: int | None
    ) -> Any: ...
    def KrylovSteps(self, rows: int, columns: int, dtype: DType, definite: bool) -> Any: ...  # noqa: N802
    def Center(self, rows: int, columns: int, dtype: DType) -> Any: ...  # noqa: N802
    def residual(self, matrix: Any, b: Array, x: Array, r: Array) -> None: ...
    def scale_residual(
        self, matrix: Any, weights: Array, factor: float, b: Array, x: Array, r: Array
    ) -> None: ...
    def relax(
        self, matrix: Any, weights: Array, b: Array, x: Array, y: Array, momentum: float, factor: float
    ) -> None: ...
    def multiply(self, matrix: Any, x: Array, y: Array) -> None: ...
    def multiply_add(self, matrix: Any, x: Array, y: Array) -> None: ...
    def multiply_dense(self, inverse: Array, b: Array, x: Array) -> None: ...
    def scale(self, weights: Array, factor: float, b: Array, x: Array) -> None: ...
    def add(self, z: Array, x: Array) -> None: ...
    def clear(self, x: Array) -> None: ...
    def copy(self, source: Array, target: Array) -> None: ...


class MultigridRoom(Protocol):
    dense: DenseModule
    strength: StrengthModule
    galerkin: GalerkinModule
    node_graph: NodeGraphModule
    path_interpolation: PathInterpolationModule
    smoothed_aggregation: SmoothedAggregationModule
    tentative: TentativeModule
    transfers: TransfersModule
    vector_ops: VectorOpsModule


class SpmvModule(Protocol):
    def Product(self, A: Any, dtype: DType, is_csr: bool) -> Any: ...  # noqa: N802
    def Preconditioning(self, M: Any, dtype: DType, in_place: bool) -> Any: ...  # noqa: N802


class VectorSpaceModule(Protocol):
    def KrylovSpace(  # noqa: N802
        self,
        n: int,
        columns: int,
        dtype: DType,
        names: Sequence[str],
        *,
        targets: Array,
        largest_growth: float,
        most_iterations: int,
        inner: Callable[[Array, Array], Any] | None = None,
        x_true: Array | None = None,
    ) -> Any: ...


class NormsModule(Protocol):
    def column_norms(self, columns: Array) -> Array: ...
    def residual_norms(self, b: Array, product: Array) -> Array: ...
    def finite_columns(self, columns: Array) -> Array: ...


class ExactDigitsModule(Protocol):
    def add_products(
        self, u: Array, v: Array, sign: int, digits: Array, leading: Array, nonfinite: Array
    ) -> None: ...


class OrderedRowsModule(Protocol):
    def multiply(self, rows: Any, x: Array) -> Array: ...


class ArnoldiModule(Protocol):
    def Arnoldi(self, space: Any, length: int, flexible: bool) -> Any: ...  # noqa: N802


class IdrModule(Protocol):
    def shadow_values(self, n: int, count: int, seed: int) -> Array: ...
    def Idr(self, space: Any, shadows: Array) -> Any: ...  # noqa: N802


class KrylovRoom(Protocol):
    arnoldi: ArnoldiModule
    exact_digits: ExactDigitsModule
    idr: IdrModule
    norms: NormsModule
    ordered_rows: OrderedRowsModule
    spmv: SpmvModule
    vector_space: VectorSpaceModule


class TokenSetsRecord(Protocol):
    """What the backends read of a `similarity.token_sets.TokenSets`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def tokens(self) -> Array: ...
    @property
    def weights(self) -> Array: ...


class SetsRecord(Protocol):
    """What the backends read of a `similarity.encoding.Sets`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def elements(self) -> Array: ...


class SymbolsRecord(Protocol):
    """What the backends read of a `similarity.grams.Symbols`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def count(self) -> int: ...
    @property
    def longest(self) -> int: ...


class PairsRecord(Protocol):
    """What the backends read of a `similarity.pairs.Pairs`."""

    @property
    def lefts(self) -> Array: ...
    @property
    def rights(self) -> Array: ...
    @property
    def rows(self) -> Array: ...
    @property
    def columns(self) -> Array: ...
    @property
    def starts(self) -> Array: ...
    @property
    def row_starts(self) -> Array: ...
    @property
    def column_starts(self) -> Array: ...
    @property
    def cells(self) -> int: ...
    @property
    def all_rows(self) -> int: ...
    @property
    def all_columns(self) -> int: ...


class TokenFilterModule(Protocol):
    def shares_enough(
        self,
        token_sets: TokenSetsRecord,
        lefts: Array,
        rights: Array,
        left_slacks: Array,
        right_slacks: Array,
    ) -> Array: ...


class ElementWeightsModule(Protocol):
    def jaccard_weights(self, sets: SetsRecord, symbols: SymbolsRecord, pairs: PairsRecord) -> Array: ...
    def edit_weights(self, sets: SetsRecord, symbols: SymbolsRecord, pairs: PairsRecord) -> Array: ...


class SetMatchingsModule(Protocol):
    def greedy(self, weights: Array, pairs: PairsRecord) -> tuple[Array, Array, Array]: ...
    def locally_dominant(self, weights: Array, pairs: PairsRecord) -> tuple[Array, Array, Array]: ...
    def paz_schwartzman(
        self, weights: Array, pairs: PairsRecord, epsilon: float
    ) -> tuple[Array, Array, Array]: ...


class CertificatesModule(Protocol):
    def largest_weight_bounds(self, weights: Array, pairs: PairsRecord) -> Array: ...
    def overlaps(self, weights: Array, pairs: PairsRecord, mates: Array) -> Array: ...
    def dual_bounds(
        self, weights: Array, pairs: PairsRecord, row_duals: Array, column_duals: Array
    ) -> Array: ...


class SimilarityRoom(Protocol):
    token_filter: TokenFilterModule
    element_weights: ElementWeightsModule
    set_matchings: SetMatchingsModule
    certificates: CertificatesModule


class Backend(Protocol):
    """A backend module, `linforest_precond.backends.cpu` or `linforest_precond.backends.cuda`.

    Attributes
    ----------
    name
        "cpu" or "cuda".
    max_rows
        The largest number of rows of a matrix.
    checks_shared_indices
        Whether the kernels that may follow the user's own index array check every index.
    xp
        The array library: NumPy or CuPy.
    """

    name: str
    max_rows: int
    checks_shared_indices: bool
    xp: Any

    runtime: RuntimeRoom
    matrix: MatrixRoom
    forest: ForestRoom
    matching: MatchingRoom
    csgraph: CsgraphRoom
    reordering: ReorderingRoom
    tridiagonal: TridiagonalRoom
    ilu: IluRoom
    approximate_inverse: ApproximateInverseRoom
    multigrid: MultigridRoom
    krylov: KrylovRoom
    similarity: SimilarityRoom
