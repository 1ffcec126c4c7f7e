"""Benchmarks, run from the top of the repository.

`python -m benchmarks.run` measures what is in `measures/` beside its peers; each program in `pages/` measures
for one page of the documentation, and writes it. The matrices are in `systems/`, the results in `results/`.
"""
