"""Benchmarks, run from the top of the repository.

`python -m benchmarks.run` runs the measurements of `measures/`; each program in `pages/` measures and
writes one page of the documentation. The matrices are in `systems/`, the results in `results/`.
"""

from linforest_precond.backends.cpu.runtime import jit

# Kernels are compiled for threads at their first call, so that the later ones are alike.
jit.ONE_THREAD = 0
