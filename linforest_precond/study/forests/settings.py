"""The options of the study of linear forests, and limits that depend on the size of a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linforest_precond.backends.arguments import as_choice
from linforest_precond.graph.forest.factor import CHARGES, TIES
from linforest_precond.precond.multigrid.multilevel_options import AUTO
from linforest_precond.precond.multigrid.multilevel_options import CHOICES as MULTIGRID_CHOICES
from linforest_precond.precond.tridiagonal.tridiagonal_part import REPAIRS
from linforest_precond.study.paper import Settings

# Preconditioners that are not the paper's; the option `precond` adds them to the part "convergence".
FURTHER = ("multilevel", "ilu", "approximate_inverse")
# BiCGStab needs a linear preconditioner, which the K-cycle is not.
LINEAR_CYCLES = ("V", "W", "F")
PARTS = ("coverage", "convergence", "performance")

# The limit of iterations on the CPU: a solve reads about this many entries of A, within bounds.
ENTRIES_OF_A_SOLVE = 1e10
FEWEST_ITERATIONS, MOST_ITERATIONS = 200, 2000
MOST_ON_GPU = 5000
# Numbers of permuted systems: none on the CPU, and fewer on the GPU, for matrices with more entries.
PERMUTATIONS, FEW_PERMUTATIONS = 5, 3
MOST_PERMUTED_ENTRIES = {"quick": 200_000, "full": 2_000_000}
MOST_PERMUTED_ON_GPU = 20_000_000


@dataclass(frozen=True)
class ForestSettings(Settings):
    """The options of a study; None chooses a number by the size of each matrix."""

    parts: tuple[str, ...] = PARTS
    rtol: float = 1e-10
    maxiter: int | None = None
    permutations: int | None = None
    charge: str = "md5"
    ties: str = "index"
    repair: str = "none"
    precond: tuple[str, ...] = ()  # further ones, for the part "convergence"
    smoother: str = AUTO  # of "multilevel", as the next two
    coarsening: str = AUTO
    cycle: str = "V"

    @property
    def multigrid(self) -> dict[str, str]:
        """The options of the further preconditioner "multilevel"."""
        return {"smoother": self.smoother, "coarsening": self.coarsening, "cycle": self.cycle}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.rtol < 1.0:
            raise ValueError(f"rtol must lie in [0, 1), got {self.rtol}")
        for name, least in (("maxiter", 1), ("permutations", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least} or None, got {value}")
        for name, choices in (("charge", CHARGES), ("ties", TIES), ("repair", REPAIRS)):
            as_choice(name, getattr(self, name), choices)
        for name in self.precond:
            as_choice("precond", name, FURTHER)
        for name in ("smoother", "coarsening"):
            as_choice(name, getattr(self, name), MULTIGRID_CHOICES[name])
        as_choice("cycle", self.cycle, LINEAR_CYCLES)

    def maxiter_for(self, nnz: int) -> int:
        """The most iterations of a solve with `nnz` entries, rounded down to two digits."""
        if self.maxiter is not None:
            return self.maxiter
        if self.device == "cuda":
            return MOST_ON_GPU
        count = min(max(ENTRIES_OF_A_SOLVE / max(nnz, 1), FEWEST_ITERATIONS), MOST_ITERATIONS)
        digits = 10 ** (math.floor(math.log10(count)) - 1)
        return int(count // digits * digits)

    def permutations_for(self, nnz: int) -> int:
        """The number of permuted systems with `nnz` entries."""
        if self.permutations is not None:
            return self.permutations
        if self.device == "cuda":
            return PERMUTATIONS if nnz <= MOST_PERMUTED_ON_GPU else FEW_PERMUTATIONS
        return PERMUTATIONS if nnz <= MOST_PERMUTED_ENTRIES[self.mode] else 0
