"""Chebyshev iterations on an interval of positive eigenvalues."""

from __future__ import annotations


def chebyshev_steps(largest: float, lowest_share: float, degree: int) -> tuple[tuple[float, float], ...]:
    """Momentum and factor of each step of the Chebyshev iteration on [lowest_share largest, largest].

    Algorithm 12.1 of Saad, "Iterative methods for sparse linear systems" (2003); as a smoother: Adams,
    Brezina, Hu & Tuminaro, "Parallel multigrid smoothing: polynomial versus Gauss-Seidel" (2003),
    doi:10.1016/S0021-9991(03)00194-3.
    """
    lowest = lowest_share * largest
    center, half_width = (largest + lowest) / 2, (largest - lowest) / 2
    steps, rho = [(0.0, 1 / center)], half_width / center
    for _ in range(degree - 1):
        new = 1 / (2 * center / half_width - rho)
        steps.append((new * rho, 2 * new / half_width))
        rho = new
    return tuple(steps)
