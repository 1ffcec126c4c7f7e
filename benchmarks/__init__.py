"""Benchmarks, run from the top of the repository.

`python -m benchmarks.run` runs the measurements of `measures/`; each program in `pages/` measures and
writes one page of the documentation. The matrices are in `systems/`, the results in `results/`.
"""
