"""The backend of setups over ranks: they are made on the host, whatever the device of the rows."""

from linforest_precond.backends import backend_named

host = backend_named("cpu")
readonly, NO_VERTEX = host.runtime.arrays.readonly, host.runtime.arrays.NO_VERTEX
