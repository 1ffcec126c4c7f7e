"""What a solve begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linforest_precond.precond.chooser.candidates import Candidate
from linforest_precond.precond.chooser.facts import Facts
from linforest_precond.precond.chooser.outlook import Outlook

# Weight on two couplings of each row from which on a forest comes first, and iterations that make it pay.
HEAVY, WORTH_A_FOREST = 0.95, 12


def first_candidate(
    candidates: Sequence[Candidate], facts: Facts, outlook: Outlook, expected: Callable[[Candidate], float]
) -> tuple[Candidate, bool]:
    """Jacobi, or what the facts recommend; and whether they tell its iterations.

    - Where two couplings of each row hold nearly all of the weight of a Hermitian or dominant matrix: the
      forest; but incomplete factors for transport, a nonsymmetric matrix with row sums of 0.
    - For an elliptic matrix whose boundary tells the iterations, the candidate with the least work. A shift
      only bounds them, and so is not enough for multigrid.
    """
    named = {each.name: each for each in candidates}
    if outlook.most_iterations > WORTH_A_FOREST and _suits_a_forest(facts):
        return named["ilu" if facts.flows else "tridiagonal"], False
    if not facts.elliptic_iterations:
        return named["jacobi"], False
    known = [each for each in candidates if each.name == "jacobi" or each.is_trusted(facts)]
    if not facts.has_boundaries:
        known = [each for each in known if not each.is_multigrid]
    return min(known, key=expected), True


def _suits_a_forest(facts: Facts) -> bool:
    return (facts.hermitian or facts.dominant_share >= 0.9) and facts.heavy_share >= HEAVY
