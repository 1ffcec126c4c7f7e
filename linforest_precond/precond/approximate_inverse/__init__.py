"""Sparse approximate inverses: FSAI for definite matrices, SPAI for others."""
