"""`MultilevelPart` holds the levels of a hierarchy; its product is one multigrid cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.graph.matching.repeated_coarsening import coarsen_until_small, is_stalled
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.precond.multigrid.coarsest import COARSEST, LARGEST_DENSE, BandedCoarsest, Coarsest
from linforest_precond.precond.multigrid.grid_transfer import GridTransfer, columns_of
from linforest_precond.precond.multigrid.hierarchy_level import SCHEMA as LEVEL
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multigrid_cycle import (
    CYCLES,
    SYMMETRIC_CYCLES,
    MultigridCycle,
    twice_visited,
)
from linforest_precond.precond.multigrid.multilevel_options import OPTIONS_SCHEMA, MultilevelOptions
from linforest_precond.precond.multigrid.near_null_space import CandidateAggregates
from linforest_precond.precond.multigrid.smoothers import (
    INVERSE,
    Smoother,
    refreshed_in_steps,
    smoother_in_steps,
)
from linforest_precond.precond.parts.lockstep import Steps, completed, in_lockstep
from linforest_precond.precond.parts.number_types import held_bytes
from linforest_precond.precond.parts.part import Repairs
from linforest_precond.precond.parts.work_vectors import apply_in_columns
from linforest_precond.precond.storage import schema
from linforest_precond.records.forest import ratio_to_finest

# Bounds for hierarchies in files: visits of the coarsest level in one cycle, and the depth of recursion.
MOST_VISITS = 2**20
MOST_LEVELS = 200


def levels_shrink(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Each level but the last is smoothed and coarsened, to the size of the next; see `is_stalled`."""
    levels, coarsest = fields["levels"], fields["coarsest"]
    sizes = [level["csr"]["diagonal"].size for level in levels]
    for i, (level, n, left) in enumerate(zip(levels, sizes, sizes[1:])):
        transfer = level["transfer"]
        complete = level["smoother"] is not None and transfer is not None and columns_of(transfer) == left
        wanted = f"have a smoother, and a transfer to the {left} unknowns of the next level"
        yield f"levels.{i}", wanted, complete
        yield f"levels.{i}", f"be coarsened to far fewer than {n} unknowns", not is_stalled(n, left)
    smoothed, last = levels[-1]["smoother"] is not None, f"levels.{len(levels) - 1}"
    yield last, "have no transfer", levels[-1]["transfer"] is None
    yield last, "have a smoother if and only if it is not inverted", smoothed == (coarsest is None)
    inverted = coarsest is None or len(coarsest.get("inverse", range(coarsest["rank"]))) == sizes[-1]
    yield "coarsest", "be of the last level, and n of the first", sizes[0] == fields["n"] and inverted
    visits = 2 ** len(twice_visited(fields["cycle"], len(levels) - 1))
    yield "levels", f"be fewer for {fields['cycle']}-cycles", visits <= MOST_VISITS


def own_data_is_of_the_finest_level(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    own, stored = fields["own_data"], fields["levels"][0]["csr"]["data"]
    fitting = own is None or (own.shape == stored.shape and own.dtype.itemsize > stored.dtype.itemsize)
    yield "own_data", "be the finest level's entries in higher precision", fitting


@dataclass(frozen=True, eq=False)
class MultilevelPart(schema.Stored):
    """The levels of a hierarchy, and the options of the cycle that the operator applies."""

    n: int
    levels: Annotated[tuple[Level, ...], schema.items(schema.nested(LEVEL, "value"), length=(1, MOST_LEVELS))]
    coarsest: Annotated[Coarsest | BandedCoarsest | None, schema.optional(schema.nested(COARSEST, "value"))]
    options: Annotated[MultilevelOptions, OPTIONS_SCHEMA]
    # A's entries, where the levels are of lower precision
    own_data: Annotated[Array | None, schema.optional(schema.own_numbers("own_entries"))]
    hermitian: bool
    definite: bool  # Hermitian with a positive diagonal: K-cycles minimize the error in A's norm
    centered: bool  # A maps constants to 0: means are subtracted
    stalled: bool
    _cycles: Workspaces = field(default_factory=Workspaces, repr=False)  # the vectors of cycles
    # Made on first use.
    _transposed: list[MultilevelPart] = field(default_factory=list, init=False, repr=False)

    kind = "multilevel"
    forest = ordering = bands = None
    coverage = 1.0

    @classmethod
    def from_state(
        cls, levels: Any, coarsest: Any, options: MultilevelOptions, cycle: str, **fields: Any
    ) -> MultilevelPart:
        for level in levels:
            _ = level.held  # computes the members of aggregates now, on the stream of the setup
        if isinstance(coarsest, BandedCoarsest):
            last = levels[-1].csr
            coarsest = Coarsest.of(last, last.data.dtype, fields["hermitian"])
        return cls(levels=levels, coarsest=coarsest, options=replace(options, cycle=cycle), **fields)

    def refreshed(self, csr: CheckedMatrix) -> MultilevelPart:
        """The values of another matrix, for the same aggregates or weights and along the same lines."""
        return self.refreshed_from(LevelMatrix(csr))

    def refreshed_from(self, matrix: LevelMatrix) -> MultilevelPart:
        """As `refreshed`, from a `LevelMatrix`, which may be a coarse matrix of a larger hierarchy."""
        fine_levels, smoothers, finest = [], [], matrix.csr
        for level in self.levels[:-1]:
            assert level.transfer is not None and level.smoother is not None
            transfer = level.transfer.refreshed(matrix)
            fine_levels.append((matrix, transfer))
            smoothers.append(refreshed_in_steps(level.smoother, matrix))
            matrix = transfer.coarse_matrix(matrix)
        levels = levels_of(fine_levels, smoothers, self.stored)
        return with_coarsest_level(levels, matrix, self.stored, self.options, self.stalled, finest)

    @cached_property
    def finest(self) -> Level:
        """The matrix itself in its own precision, without a smoother."""
        csr = self.levels[0].csr
        if self.own_data is not None:
            csr = described(csr.indptr, csr.indices, self.own_data)
        return Level(csr, None)

    @property
    def cycle(self) -> str:
        return self.options.cycle

    def accelerator(self, cycle: str) -> str:
        """The Krylov method that fits the matrix and a cycle."""
        if not self.definite:
            return "bicgstab"
        return "cg" if cycle in SYMMETRIC_CYCLES else "fcg"

    def with_cycle(self, cycle: str) -> MultilevelPart:
        """The same hierarchy with another cycle."""
        if cycle == self.cycle:
            return self
        return replace(self, options=replace(self.options, cycle=cycle), _cycles=Workspaces())

    @property
    def transposed(self) -> MultilevelPart:
        """The part of the transposed matrix, made once.

        No cached property: it holds a lock of the class, which ranks that are threads would wait for.
        """
        if not self._transposed:
            self._transposed.append(self._transpose())
        return self._transposed[0]

    def _transpose(self) -> MultilevelPart:
        """Transpose all levels; pre- and postsmoothing change places."""
        pre, post = self.options.presmooth, self.options.postsmooth
        if self.is_symmetric and self.is_self_adjoint:
            return self
        options = replace(self.options, presmooth=post, postsmooth=pre)
        if self.is_symmetric:
            return replace(self, options=options, _cycles=Workspaces())
        coarsest = None if self.coarsest is None else self.coarsest.transposed()
        levels = tuple(level.transposed() for level in self.levels)  # for cycles alone: without own_data
        self._backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is cached
        return replace(
            self, levels=levels, coarsest=coarsest, options=options, own_data=None, _cycles=Workspaces()
        )

    @property
    def is_symmetric(self) -> bool:
        return self.hermitian and self.stored.kind != "c"

    @property
    def is_self_adjoint(self) -> bool:
        """Whether the cycle is Hermitian; K-cycles, which are not linear, are their own adjoints here."""
        same_sweeps = self.options.presmooth == self.options.postsmooth
        return self.hermitian and same_sweeps and self.cycle != "F"

    @property
    def stored(self) -> DType:
        return self.levels[0].csr.data.dtype

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        part = self.transposed if transpose else self

        def cycle(columns: int) -> MultigridCycle:
            return MultigridCycle(part, columns, transpose and part is not self)

        apply_in_columns(part._cycles, self._backend, b, x, cycle)

    @cached_property
    def _backend(self) -> Backend:
        return self.levels[0].csr.backend

    @property
    def nbytes(self) -> int:
        return held_bytes([level.held for level in self.levels], self.coarsest, self.own_data)

    @property
    def name(self) -> str:
        return f"multilevel: {self.cycle}-cycle on {len(self.levels)} level{'s' * (len(self.levels) > 1)}"

    @property
    def repairs(self) -> Repairs:
        return {}

    @property
    def positive_definite(self) -> bool:
        """Whether the cycle is positive definite where A is; K-cycles are not linear."""
        return self.definite and self.is_self_adjoint and self.cycle != "K"

    def details(self) -> list[tuple[str, str]]:
        entries = [level.entries for level in self.levels]
        unknowns = [level.unknowns for level in self.levels]
        lines = [
            (f"level {i}", f"{n:,} unknowns, {nnz:,} entries")
            for i, (n, nnz) in enumerate(zip(unknowns, entries))
        ]
        of_entries, of_unknowns = ratio_to_finest(entries), ratio_to_finest(unknowns)
        if self.coarsest is None:
            how = f"smoothed, as it has more than {LARGEST_DENSE:,} unknowns"
        else:
            how = "factored" if isinstance(self.coarsest, BandedCoarsest) else "inverted"
            how += f", of rank {self.coarsest.rank:,}"
        return [
            *lines,
            ("complexity", f"{of_entries:.2f} x the entries, {of_unknowns:.2f} x the unknowns"),
            ("coarsening", self._coarsening()),
            *self._candidates(),
            ("smoother", self._smoothing()),
            ("coarsest", how + (", stalled" if self.stalled else "")),
            ("null space", "the constants, left out" if self.centered else "none known"),
        ]  # fmt: skip

    def _coarsening(self) -> str:
        """The coarsening and the reasons of its choice, for print."""
        reasons = f" ({'; '.join(self.options.reasons)})" if self.options.reasons else ""
        return self.options.coarsening.replace("_", " ") + reasons

    def _candidates(self) -> list[tuple[str, str]]:
        """The near-null space candidates and unknowns per node, where prolongators keep any."""
        aggregates = getattr(self.levels[0].transfer, "smoothed", None)
        if not isinstance(aggregates, CandidateAggregates):
            return []
        count, size = aggregates.candidates.shape[1], aggregates.block_size
        return [
            ("candidates", f"{count} of the near-null space"),
            ("block size", f"{size} unknowns per node"),
        ]

    def _smoothing(self) -> str:
        """The smoother, for print."""
        name = self.options.smoother
        others = [
            str(i) for i, level in enumerate(self.levels) if level.smoother and level.smoother.kind != name
        ]
        why = "the diagonal is not positive" if name == INVERSE else "lines do not pay"
        instead = f"; jacobi on level {', '.join(others)}, where {why}" if others else ""
        return f"{name}, sweeps: {self.options.presmooth} before, {self.options.postsmooth} after{instead}"


SCHEMA = schema.of_fields(
    MultilevelPart,
    levels_shrink,
    own_data_is_of_the_finest_level,
    n=schema.size("n"),
    cycle=schema.one_of(*CYCLES),
)


def levels_of(
    fine_levels: Sequence[tuple[LevelMatrix, Any]], smoothers: Sequence[Steps[Smoother]], stored: DType
) -> list[Level]:
    """All levels but the coarsest, from matrices and transfers; their smoothers are made in lockstep."""
    return [
        Level(matrix.csr, smoother, transfer).stored_in(stored)
        for (matrix, transfer), smoother in zip(fine_levels, in_lockstep(smoothers))
    ]


def with_coarsest_level(
    levels: list[Level],
    last: LevelMatrix,
    stored: DType,
    options: MultilevelOptions,
    stalled: bool,
    finest: CheckedMatrix,
) -> MultilevelPart:
    """The part of all levels, the last one inverted or smoothed; `finest` may be of higher precision."""
    coarsest = Coarsest.of(last.csr, stored, last.hermitian, last.centered)
    smoother = None
    if coarsest is None:
        smoother = completed(smoother_in_steps(last, stored, options.smoother, options.seed))
    levels = [*levels, Level(last.csr, smoother).stored_in(stored)]
    return MultilevelPart(
        finest.n, tuple(levels), coarsest, options,
        own_data=None if finest.data.dtype == stored else finest.data,
        hermitian=last.hermitian, definite=last.definite, centered=last.centered, stalled=stalled,
    )  # fmt: skip


# Returns the transfer to the next level and that level's matrix; None and the matrix itself for a stall.
Coarsen = Callable[[LevelMatrix], tuple[GridTransfer | None, LevelMatrix]]


def part_of_levels(
    finest: LevelMatrix, stored: DType, options: MultilevelOptions, coarsen: Coarsen, stall_cause: str
) -> tuple[MultilevelPart, str]:
    """The part of a hierarchy, and the warning where coarsening stalled, else empty."""
    fine_levels, last, stall = coarsen_until_small(
        finest, coarsen, options.max_coarse, options.max_levels, stall_cause
    )
    smoothers = [
        smoother_in_steps(matrix, stored, options.smoother, options.seed) for matrix, _ in fine_levels
    ]
    levels = levels_of(fine_levels, smoothers, stored)
    part = with_coarsest_level(levels, last, stored, options, bool(stall), finest.csr)
    return part, stall
