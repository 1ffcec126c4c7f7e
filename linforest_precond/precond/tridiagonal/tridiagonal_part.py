"""`TridiagonalPart` holds the factored (block) tridiagonal bands of a permuted matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.returns import BandSlots
from linforest_precond.graph.forest import pipeline
from linforest_precond.graph.forest.bands import block_slots, copy_bands, copy_block_bands
from linforest_precond.graph.forest.factor import FactorOptions
from linforest_precond.graph.forest.given_records import checked_forest
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.graph.reordering.permute import checked_order, ordering_of
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.pattern_digest import PatternDigest
from linforest_precond.precond.parts.lockstep import Steps, completed
from linforest_precond.precond.parts.number_types import held_bytes, stored_arrays
from linforest_precond.precond.parts.part import Repairs, coverage_in_words, happened, in_words
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import (
    BANDS,
    BLOCK_BANDS,
    BLOCK_FOREST,
    FOREST,
    ORDERING,
)
from linforest_precond.precond.tridiagonal.elimination import StartedFactorization
from linforest_precond.precond.tridiagonal.refresh import Refreshed, own_arrays, results_of_pass
from linforest_precond.precond.tridiagonal.repair import Decision, rows_to_repair
from linforest_precond.precond.tridiagonal.segments import Triple
from linforest_precond.precond.tridiagonal.solver import TridiagonalSolver, solver_of, started_factorization
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering

REPAIRS = "auto", "none"


def one_source_of_order(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    yield "given", "be null where there is a forest", fields["forest"] is None or fields["given"] is None


WEIGHTS: dict[str, schema.Spec | type] = {
    "own_forest": bool,
    "weights": schema.items(float, float, float),
    "repair": schema.one_of(*REPAIRS),
}
# Values of fields that older files lack.
DEFAULTS = {"repair": "auto", "repaired": None}
SCHEMAS = {
    "tridiagonal": schema.FieldsSpec(
        {
            "kind": schema.one_of("tridiagonal"),
            "n": schema.size("n"),
            "bands": schema.nested(BANDS, "n", "value"),
            "forest": schema.optional(schema.nested(FOREST, "n")),
            "given": schema.optional(schema.nested(ORDERING, "n")),
            "repaired": schema.optional(schema.marks("n")),
            "permuted": bool,
            **WEIGHTS,
        },
        one_source_of_order,
        defaults={**DEFAULTS, "permuted": False},
    ),
    "block_tridiagonal": schema.FieldsSpec(
        {
            "kind": schema.one_of("block_tridiagonal"),
            "n": schema.size("n"),
            "forest": schema.nested(BLOCK_FOREST, "n", "blocks", "block_size"),
            "bands": schema.nested(BLOCK_BANDS, "blocks", "block_size", "value"),
            "given": schema.one_of(None),
            "repaired": schema.optional(schema.marks("blocks")),
            **WEIGHTS,
        },
        defaults=DEFAULTS,
    ),
}


class FactoredBands:
    """What the parts on one device and over ranks share."""

    kind: str
    bands: Bands
    solver: TridiagonalSolver

    @property
    def stored(self) -> DType:
        return self.bands.diagonal.dtype

    @property
    def _name_along_forest(self) -> str:
        """The name in the order of a linear forest, of vertices or of blocks."""
        if self.kind == "tridiagonal":
            return "tridiagonal part along a linear forest"
        size = self.bands.diagonal.shape[1]
        return f"{size} x {size} block tridiagonal part along a linear forest"

    @property
    def repairs(self) -> Repairs:
        """The repairs of the system, by name."""
        solver, clips = self.solver, bool(self.solver.repaired_couplings)
        return happened(
            made_definite=int(solver.clipped),
            couplings_clipped=solver.repaired_couplings,
            paths_clipped=solver.repaired_paths if clips else 0,
            pivots_perturbed=solver.lifted,
            rows_regularized=solver.regularized,
        )

    @property
    def positive_definite(self) -> bool:
        return self.solver.positive_definite

    def _details(self, paths: int, longest: int, *others: tuple[str, str]) -> list[tuple[str, str]]:
        """Lines for print: paths, coverage, how the paths are solved, and repairs."""
        unit = "blocks" if self.kind == "block_tridiagonal" else "vertices"
        return [
            ("paths", f"{paths:,}"),
            ("longest path", f"{longest:,} {unit}"),
            ("coverage", coverage_in_words(self)),
            ("solved", "with pivoting" if self.solver.pivoted else "without pivoting"),
            *others,
            ("repairs", in_words(self.repairs, self.positive_definite)),
        ]


@dataclass(frozen=True, eq=False)
class TridiagonalPart(FactoredBands, schema.Stored):
    """A factored (block) tridiagonal system, and the row of A that each of its rows is."""

    kind: str
    n: int
    bands: Bands
    forest: Forest | BlockForest | None
    given: Ordering | None  # the user's ordering, where there is no forest
    own_forest: bool  # whether the setup made the forest: its slots are those of A
    weights: tuple[float, float, float]  # of A: total off-diagonal, next to the diagonal; the scale of both
    repair: str  # one of `REPAIRS`
    solver: TridiagonalSolver
    permuted: bool = False  # whether vectors are in the order of the system; never so for blocks

    schema = SCHEMAS

    @classmethod
    def of(
        cls, csr: CheckedMatrix | Refreshed, stored: DType, bands: Bands, **fields: Any
    ) -> TridiagonalPart:
        """Factor the bands of a matrix in the stored type; `started` is their factorization, if under way."""
        return completed(cls.in_steps(csr, stored, bands, **fields))

    @classmethod
    def in_steps(
        cls, csr: CheckedMatrix | Refreshed, stored: DType, bands: Bands, **fields: Any
    ) -> Steps[TridiagonalPart]:
        started = fields.pop("started", None)
        weights = csr.total_weight, csr.adjacent_weight, csr.scale
        order = order_of(fields["forest"], fields["given"])

        def decide(bands: Triple, inverse: Array) -> Array | None:
            matrix = csr if isinstance(csr, CheckedMatrix) else checked(csr.A, shared=True)
            magnitudes = matrix.backend.multigrid.strength.row_sums(matrix)[0]
            return rows_to_repair(bands, inverse, magnitudes, order)

        stored_bands = bands if isinstance(csr, Refreshed) else _stored_bands(bands, stored, csr.exponent)
        if started is None and isinstance(csr, CheckedMatrix):
            # `csr.symmetric` compares magnitudes: a complex matrix is more often Hermitian than symmetric.
            symmetric = None if csr.symmetric and stored.kind == "c" else csr.symmetric
            started = started_factorization(stored_bands, symmetric, perturb=fields["repair"] == "auto")
        yield
        return cls._solved(stored_bands, decide, started=started, n=csr.n, weights=weights, **fields)

    @classmethod
    def along_forest(
        cls, csr: CheckedMatrix, stored: DType, forest: Forest | BlockForest, bands: Bands, repair: str
    ) -> Steps[TridiagonalPart]:
        """The part of a matrix along a forest that the setup made of it."""
        kind = "block_tridiagonal" if isinstance(forest, BlockForest) else "tridiagonal"
        fields = {"kind": kind, "forest": forest, "given": None, "own_forest": True, "repair": repair}
        return cls.in_steps(csr, stored, bands, **fields)

    @classmethod
    def factored(cls, bands: Bands, repaired: Array | None = None, **fields: Any) -> TridiagonalPart:
        """Factor bands in the stored type; the same paths are repaired as before."""
        rows = None if repaired is None else repaired.astype(bool)
        return cls._solved(bands, lambda bands, inverse: rows, **fields)

    @classmethod
    def _solved(
        cls,
        bands: Bands,
        decide: Decision,
        repair: str,
        started: StartedFactorization | None = None,
        **fields: Any,
    ) -> TridiagonalPart:
        auto = repair == "auto"
        solver = solver_of(bands, auto, auto, decide if auto else None, started)
        return cls(bands=bands, repair=repair, **fields, solver=solver)

    @classmethod
    def from_state(cls, own_forest: bool, repair: str = "auto", **fields: Any) -> TridiagonalPart:
        # Slots cannot be checked without the matrix, so an update searches for the entries instead.
        return cls.factored(**fields, repair=repair, own_forest=False)

    @property
    def repaired(self) -> Array | None:
        """1 for the (block) rows of repaired paths, else 0; None where there are none."""
        rows = self.solver.repaired
        return None if rows is None else rows.astype("uint8")

    def refreshed(self, csr: CheckedMatrix) -> TridiagonalPart:
        return self.of(csr, self.stored, self._bands_of(csr), **self._kept)

    def refreshed_in_steps(self, csr: CheckedMatrix) -> Steps[TridiagonalPart]:
        return self.in_steps(csr, self.stored, self._bands_of(csr), **self._kept)

    def _bands_of(self, csr: CheckedMatrix) -> Bands:
        """The bands of another matrix in the same order."""
        if isinstance(self.forest, BlockForest):
            return copy_block_bands(csr, self.forest)
        if self.forest is None:
            return _bands_in_order(csr, self.given)
        slots = self.forest.slots if self.own_forest else None
        slots = None if slots is None else slots.astype(csr.indices.dtype, copy=False)
        return copy_bands(csr, self.forest, None, slots)

    @property
    def _kept(self) -> dict[str, Any]:
        """The fields that an update keeps."""
        names = "kind", "forest", "given", "own_forest", "repair", "permuted"
        return {name: getattr(self, name) for name in names}

    def slots_in(self, csr: CheckedMatrix) -> BandSlots | None:
        if not csr.nnz:
            return None
        if isinstance(self.forest, BlockForest):
            return block_slots(csr, self.forest)
        if self.forest is None:
            neighbors, order = _neighbors_in_order(csr, self.given)
        else:
            arrays, index = (self.forest.neighbors, self.forest.order), csr.indices.dtype
            neighbors, order = (array.astype(index, copy=False) for array in arrays)
        return csr.backend.forest.band_refresh.find_slots(csr, neighbors, order)

    def refreshed_in_place(
        self, A: MatrixLike, pattern: PatternDigest, slots: BandSlots
    ) -> TridiagonalPart | None:
        arrays = own_arrays(A, pattern)
        if arrays is None or slots.entries != pattern.entries:
            return None
        report, gathered = pattern.backend.forest.band_refresh.refresh(*arrays, slots)
        # The factorization is launched before the report is read; an accepted report excludes overflow.
        bands = Bands(*(band.astype(self.stored, copy=False) for band in gathered))
        old, started = self.solver, self.start(bands, report)
        found = results_of_pass(A, report, arrays[2].dtype, self.stored, pattern)
        if found is None:
            return None
        part = self.of(found, self.stored, bands, started=started, **self._kept)
        # Bands that are no longer exactly Hermitian may be so to rounding; only the check of A decides.
        return None if old.hermitian and not part.solver.hermitian else part

    def start(self, bands: Bands, report: Any = None) -> StartedFactorization:
        """The factorization of similar bands, with the sweeps that this part has; no stall."""
        old = self.solver
        others = old.pivoted or old.clipped or old.repaired_couplings  # solves do not use these factors
        symmetric = None if others else old.symmetric
        return started_factorization(bands, symmetric, perturb=self.repair == "auto", report=report)

    @property
    def ordering(self) -> Ordering | None:
        return self.forest.ordering if isinstance(self.forest, Forest) else self.given

    @property
    def order(self) -> Array | None:
        """The row of A that each row of the system is, -1 for a ghost row; None for A's own order."""
        return order_of(self.forest, self.given)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self.solver.solve_into(b, x, None if self.permuted else self.order, transpose)

    def on_permuted_vectors(self) -> TridiagonalPart | None:
        return None if self.permuted or self.kind != "tridiagonal" else replace(self, permuted=True)

    @property
    def nbytes(self) -> int:
        return held_bytes(self)

    @property
    def name(self) -> str:
        if self.forest is not None:
            return self._name_along_forest
        order = "A's own order" if self.given is None else "a given order"
        return f"tridiagonal part in {order}"

    @cached_property
    def coverage(self) -> float:
        """Share of A's off-diagonal weight that the bands hold (Eq. 4)."""
        total, _, scale = self.weights
        if total == 0.0:
            return 1.0
        backend = self.bands.backend
        bands = [self.bands.lower, self.bands.upper]
        if self.bands.diagonal.ndim == 3:
            off_diagonal = 1 - backend.xp.eye(self.bands.diagonal.shape[1], dtype=self.stored)
            bands.append(self.bands.diagonal * off_diagonal)
        magnitudes = (backend.matrix.entries.magnitudes(band.ravel()) for band in bands)
        weight = math.fsum(float(backend.matrix.sums.tree_sum(each, scale)) for each in magnitudes)
        return min(1.0, weight / total)

    @property
    def identity_coverage(self) -> float:
        """Share of A's off-diagonal weight on the sub- and superdiagonal, in A's own order (Eq. 5)."""
        total, adjacent, _ = self.weights
        return 1.0 if total == 0.0 else min(1.0, adjacent / total)

    @cached_property
    def paths(self) -> tuple[int, int]:
        """The number of paths, and the length of the longest."""
        if self.forest is not None:
            return self.forest.n_paths, self.forest.longest_path
        lower, upper = self.bands.lower, self.bands.upper
        xp = xp_of(lower)
        starts = xp.ones(self.n + 1, bool)  # and one after the last path
        starts[1:-1] = (lower[1:] == 0) & (upper[:-1] == 0)
        lengths = xp.diff(xp.flatnonzero(starts))
        return lengths.size, int(lengths.max()) if lengths.size else 0  # stall: for print

    def details(self) -> list[tuple[str, str]]:
        vectors = [("vectors", "in the order of the system")] if self.permuted else []
        return [*self._details(*self.paths), *vectors]


def order_of(forest: Forest | BlockForest | None, given: Ordering | None) -> Array | None:
    source = forest if forest is not None else given
    return None if source is None else source.order


def scalar_part_in_steps(
    csr: CheckedMatrix,
    stored: DType,
    ordering: str | Forest | npt.ArrayLike,
    options: FactorOptions,
    repair: str = "auto",
) -> Steps[TridiagonalPart]:
    """The tridiagonal part of a checked matrix in an order, with checked options."""
    csr.backend.prefetch("tridiagonal", csr, stored, 1)
    forest = given = None
    is_name = isinstance(ordering, str)
    if is_name and ordering == "forest":
        found = pipeline.bands_along_forest(csr, options)
        return TridiagonalPart.along_forest(csr, stored, *found, repair)
    if isinstance(ordering, Forest):
        forest = checked_forest(ordering, csr.n, csr.backend, "ordering")
        bands = copy_bands(csr, forest)
    else:
        given = _given_order(ordering, csr)
        bands = _bands_in_order(csr, given)
    fields = {"kind": "tridiagonal", "forest": forest, "given": given, "own_forest": is_name}
    return TridiagonalPart.in_steps(csr, stored, bands, repair=repair, **fields)


def block_part(
    csr: CheckedMatrix, stored: DType, candidates: Any, repair: str = "auto", partners: Array | None = None
) -> TridiagonalPart:
    """The block tridiagonal part of a checked matrix, with the options that `check_block_options` gives."""
    block_size = 2 ** (len(candidates[0]) - 1)
    csr.backend.prefetch("tridiagonal", csr, stored, block_size)
    found = pipeline.bands_along_block_forest(csr, candidates, partners)
    return completed(TridiagonalPart.along_forest(csr, stored, *found, repair))


def _stored_bands(bands: Bands, stored: DType, exponent: int | None) -> Bands:
    """The bands of a matrix in the stored type; `exponent` is that of its largest entry, where known."""
    if bands.diagonal.dtype == stored:
        return bands
    arrays = bands.lower, bands.diagonal, bands.upper
    return Bands(*stored_arrays(arrays, stored, [exponent] * 3))


def _given_order(ordering: str | npt.ArrayLike, csr: CheckedMatrix) -> Ordering | None:
    """The ordering for a permutation, "rcm" or "original"; None for the latter."""
    if not isinstance(ordering, str):
        return checked_order(ordering, csr.n, csr.backend, "ordering", csr.indices.dtype)
    if ordering == "original":
        return None
    order = order_pattern(as_pattern(csr))[::-1].astype(csr.indices.dtype)
    return ordering_of(order)


def _bands_in_order(csr: CheckedMatrix, ordering: Ordering | None) -> Bands:
    """The sub-, main and superdiagonal of A in a given order, by default its own."""
    paths = _neighbors_in_order(csr, ordering)
    return Bands(*csr.backend.forest.bands.extract(csr, *paths, None, None))


def _neighbors_in_order(csr: CheckedMatrix, ordering: Ordering | None) -> tuple[Array, Array]:
    """The rows before and after each row in a given order, by default A's own, and that order."""
    xp, index = csr.backend.xp, csr.indices.dtype
    order = xp.arange(csr.n, dtype=index) if ordering is None else ordering.order.astype(index, copy=False)
    neighbors = xp.full((csr.n, 2), -1, index)
    neighbors[order[1:], 0] = order[:-1]
    neighbors[order[:-1], 1] = order[1:]
    return neighbors, order
