"""Krylov solvers: norms, sparse matrix-vector products, fused vector updates, scalar steps."""
