"""The study: coverages, convergence and performance on many matrices, compared with the published values."""

from linforest_precond.study.run import run_study as run_study
