"""`Level` holds the matrix, the smoother and the grid transfer of one level of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from linforest_precond.backends.annotations import DType
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.precond.multigrid.grid_transfer import TRANSFER_SCHEMA, GridTransfer
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.multigrid.smoothers import SMOOTHER_SCHEMA, Smoother
from linforest_precond.precond.parts.number_types import stored_arrays
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import MATRIX


def kept_couplings_are_entries(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """There is a mark for each entry of the matrix."""
    smoothed = (fields["transfer"] or {}).get("smoothed") or {}
    entries, kept = fields["csr"]["indices"].size, smoothed.get("kept")
    marked = kept is None or kept.size == entries
    yield "transfer.smoothed.kept", f"have a mark for each of the {entries} entries", marked


@dataclass(frozen=True, eq=False)
class Level(schema.Stored):
    """A matrix, its smoother, and the grid transfer to the next level."""

    csr: Annotated[CheckedMatrix, schema.nested(MATRIX, "n", "value")]
    smoother: Annotated[Smoother | None, schema.optional(SMOOTHER_SCHEMA)]
    transfer: Annotated[GridTransfer | None, schema.optional(TRANSFER_SCHEMA)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "csr", self.csr.detached())

    @cached_property
    def matrix(self) -> Any:
        """The matrix as the backend's vector operations take it."""
        return self.csr.operand()

    @property
    def unknowns(self) -> int:
        return self.csr.n

    @property
    def entries(self) -> int:
        return self.csr.nnz

    def vectors(self, columns: int, dtype: DType, *, transpose: bool, further: int) -> LevelVectors:
        return LevelVectors(self.csr, self.matrix, columns, dtype, transpose=transpose, further=further)

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return [self.csr, self.smoother, *([] if self.transfer is None else self.transfer.held)]

    def transposed(self) -> Level:
        transfer = None if self.transfer is None else self.transfer.conjugated()
        arrays = self.csr.indptr, self.csr.indices, self.csr.data
        csr = described(*self.csr.backend.matrix.entries.transposed(*arrays))
        return replace(self, csr=csr, transfer=transfer)

    def stored_in(self, dtype: DType) -> Level:
        """The level with numbers of another precision."""
        if self.csr.data.dtype == dtype:
            return self
        csr, transfer = self.csr, self.transfer
        arrays, exponents = [csr.data, csr.diagonal], [csr.exponent] * 2
        if transfer is not None:
            arrays += transfer.values
            exponents += [transfer.exponent] * len(transfer.values)
        data, diagonal, *values = stored_arrays(arrays, dtype, exponents)
        transfer = None if transfer is None else transfer.with_values(values)
        return replace(self, csr=replace(csr, data=data, diagonal=diagonal), transfer=transfer)

    @classmethod
    def from_state(
        cls, csr: CheckedMatrix, smoother: Smoother | None, transfer: GridTransfer | None
    ) -> Level:
        if transfer is not None:  # kernels on the GPU take one index type
            transfer = transfer.indexed_by(csr.indices.dtype)
        return cls(csr, smoother, transfer)


SCHEMA = schema.of_fields(Level, kept_couplings_are_entries)
