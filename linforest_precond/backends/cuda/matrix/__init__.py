"""Matrices in CSR: scans of entries and patterns, digests, fixed-order sums, sparse products."""
