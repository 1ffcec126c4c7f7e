"""The state of a solver: its checked options, the matrix with its facts and factors, and the choice."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends.arguments import as_choice, as_flag, as_integer
from linforest_precond.chooser.candidates import Candidate, candidates_on
from linforest_precond.chooser.factorization import Factorization
from linforest_precond.chooser.facts import Facts, facts_of
from linforest_precond.chooser.outcome import quietly
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.preconditioner import Preconditioner

# Default relative tolerances in single and in double precision.
TOLERANCES = {"f": 1e-5, "d": 1e-8}


def tolerance(rtol: Any, *dtypes: Any) -> Any:
    """rtol, or for None the default of the solve: in single precision where all types are single."""
    are_single = all(dtype in (np.float32, np.complex64) for dtype in dtypes)
    return TOLERANCES["f" if are_single else "d"] if rtol is None else rtol


@dataclass(frozen=True)
class Options:
    """The arguments of `Solver`, checked; tolerances and the null space are checked with b."""

    rtol: Any
    seed: int
    calibration: str
    atol: Any = 0.0
    method: str = "auto"
    time_limit: float | None = None
    nullspace: Any = None
    maxiter: Any = None
    verbose: bool = False

    @classmethod
    def of(cls, **given: Any) -> Options:
        options = cls(**given)
        limit: Any = options.time_limit
        is_number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
        if limit is not None and not (is_number and limit > 0):
            raise ValueError(f"time_limit must be None or a positive number of seconds, got {limit!r}")
        as_choice("calibration", options.calibration, ("measured", "default"))
        verbose, seed = as_flag("verbose", options.verbose), as_integer("seed", options.seed)
        return replace(options, seed=seed, verbose=verbose)


@dataclass(frozen=True)
class Choice:
    """The preconditioner and the Krylov method that solved a system, and its iterations.

    M may be stale, that of an earlier matrix. `spent` are the seconds of all iterations with this matrix so
    far, by the cost model.
    """

    candidate: Candidate
    M: Preconditioner
    method: str
    iterations: int
    is_stale: bool = False
    spent: float = 0.0

    @property
    def in_words(self) -> str:
        """Factors need no Krylov method, unless rounding errors are large."""
        name = self.candidate.name
        return name if self.candidate.is_direct else f"{name} with {self.method}"


class System:
    """A matrix, its facts and factors, and the choice for it, None before the first solve."""

    def __init__(
        self,
        A: CheckedMatrix,
        choice: Choice | None = None,
        factorization: Factorization | None = None,
    ) -> None:
        self.A, self.choice = A, choice
        self.factorization = Factorization(A) if factorization is None else factorization

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.A)

    @property
    def known_facts(self) -> Facts | None:
        """The facts, where they were asked for before."""
        return self.__dict__.get("facts")

    @property
    def factors_may_have_paid(self) -> bool:
        """Whether earlier iterations may have taken longer than factors would."""
        choice = self.choice
        if choice is None or choice.candidate.is_direct:
            return False
        return choice.spent > 0 and self.factorization.may_take(choice.spent)

    def candidates(self, method: str, seed: int = 0) -> list[Candidate]:
        """The candidates for A, or the one that `method` names."""
        found = candidates_on(self.A.backend.name, self.facts, seed)
        if method == "auto":
            return found
        named = [each for each in found if each.name == method]
        if not named:
            names = ", ".join(f'"{each.name}"' for each in found)
            raise ValueError(
                f'method must be "auto" or one of {names} for this A, got {method!r}; for a Krylov method '
                "or an M by name, call lf.solvers.cg(A, b, M=M)"
            )
        return named

    def chosen(self, choice: Choice | None) -> System:
        """This system with a choice; facts that were found are kept."""
        system = copy(self)
        system.choice = choice
        return system

    def updated(self, A: CheckedMatrix) -> System:
        """For another matrix: with the same choice where it has the same pattern.

        Factors are not made anew: the next solve tries the old ones first, and updates them if it must.
        """
        choice = self.choice
        if choice is None or A.backend is not self.A.backend:
            return System(A)
        try:
            if choice.candidate.is_direct:
                choice.M._pattern.require_same(A.digest)
                kept = replace(choice, is_stale=True)
            else:
                kept = replace(choice, M=choice.M.frozen(), spent=0.0)
                quietly(kept.M.update, A)
        except ValueError:  # another pattern, or values that it cannot take
            return System(A)
        factors = kept.M if kept.candidate.is_direct else None
        return System(A, kept, Factorization(A, self.factorization, factors))
