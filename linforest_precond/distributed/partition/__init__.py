"""Partitioned matrices and vectors: communicators, halo exchange, reproducible sums, Krylov solvers."""

from linforest_precond.backends import backend_named

# The backend of setups: they are made on the host, whatever the device of the rows.
host = backend_named("cpu")
readonly, NO_VERTEX = host.runtime.arrays.readonly, host.runtime.arrays.NO_VERTEX
