"""Programs compiled ahead of their first use: none, Numba compiles a function when it is called."""


def prefetch(call, *facts):
    """Begin to compile the programs of a call."""
