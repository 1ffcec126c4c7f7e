"""What a solve begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.outlook import Outlook

# Weight on two couplings of each row from which on a forest comes first, and iterations that make it pay.
HEAVY, NEARLY_ALL, WORTH_A_FOREST = 0.9, 0.95, 12


def first_candidate(
    candidates: Sequence[Candidate], facts: Facts, outlook: Outlook, expected: Callable[[Candidate], float]
) -> tuple[Candidate, bool]:
    """Jacobi, or what the facts recommend; and whether they tell its iterations.

    - Where two couplings of each row hold most of the weight of a dominant Hermitian matrix, or nearly all of
      that of a dominant or a Hermitian one: the forest; but incomplete factors (or what is trusted in their
      place) for transport, a nonsymmetric matrix with row sums of 0.
    - For an elliptic matrix whose boundary tells the iterations, the candidate with the least work.
    """
    named = {each.name: each for each in candidates}
    if outlook.most_iterations > WORTH_A_FOREST and _suits_a_forest(facts):
        flows = not facts.hermitian and facts.zero_sum_share >= 0.5
        trusted = [each for each in candidates if each.is_trusted(facts) and not each.is_multigrid]
        return trusted[0] if flows else named["tridiagonal"], False
    if not facts.elliptic_iterations:
        return named["jacobi"], False
    known = [each for each in candidates if each.name == "jacobi" or each.is_trusted(facts)]
    return min(known, key=expected), True


def _suits_a_forest(facts: Facts) -> bool:
    is_dominant = facts.dominant_share >= 0.9
    if not is_dominant and not facts.hermitian:
        return False
    return facts.heavy_share >= (HEAVY if is_dominant and facts.hermitian else NEARLY_ALL)
