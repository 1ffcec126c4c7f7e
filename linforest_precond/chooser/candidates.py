"""The candidates: one for each way to solve a system, with its costs and the iterations to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from linforest_precond.chooser.facts import Facts
from linforest_precond.precond.kinds import Candidacy, Cost, Face, faces
from linforest_precond.precond.preconditioner import Preconditioner

# Kinds with which the first residuals predict the last ones, and a good x0 pays for every A.
LINEAR = "direct", "multilevel"


@dataclass(frozen=True)
class Candidate:
    """A preconditioner that a run may be made with; it can be pickled.

    Attributes
    ----------
    name, call
        Its name in reports, and how a user makes it.
    kind, options
        The kind, and the options of its function.
    setup, application
        Costs of the setup and of an application, as measured.
    share, cycles
        The iterations to expect, relative to those with Jacobi; the most for 8 digits, 0 if not known.
    is_definite
        Whether M is positive definite for every Hermitian A with a positive diagonal: where CG breaks down
        with it, A is not definite.
    """

    name: str
    call: str
    kind: str
    setup: Cost
    application: Cost
    share: float
    cycles: float = 0.0
    is_definite: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: str, face: Face, given: Candidacy, facts: Facts, seed: int) -> Candidate:
        """That of a kind for a matrix with these facts."""
        seeded = {"seed": seed} if "seed" in face.defaults else {}
        return cls(
            f"{kind} + matching" if "scaling" in given.options else kind,
            face.call(given.options),
            kind,
            given.setup,
            given.application,
            given.share(facts) if callable(given.share) else given.share,
            given.cycles(facts),
            given.is_definite,
            {**given.options, **seeded},
        )

    def make(self, A: Any) -> Preconditioner:
        """The preconditioner of A; factors are made by a `Factorization` in place of this."""
        made: Preconditioner = faces()[self.kind].operator(A, **self.options)
        return made

    @property
    def is_direct(self) -> bool:
        return self.kind == "direct"

    @property
    def converges_linearly(self) -> bool:
        return self.kind in LINEAR


DIRECT = Candidate("direct", "lf.direct(A)", "direct", Cost(0, 0), Cost(0, 0), 0.0, is_definite=False)


def candidates_on(backend: str, facts: Facts, seed: int = 0) -> list[Candidate]:
    """The candidates that make sense for a matrix on a backend, those that permute its rows last."""
    own = [
        Candidate.of(kind, face, given, facts, seed)
        for kind, face in faces().items()
        for given in face.candidates
        if given.backend == backend and given.fits(facts)
    ]
    own.sort(key=lambda each: "scaling" in each.options)
    return own if facts.is_singular else [DIRECT, *own]
