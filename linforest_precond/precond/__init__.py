"""From a forest to a preconditioner: bands, tridiagonal solves, the operators."""
