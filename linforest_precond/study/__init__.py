"""The study: weight coverages, convergence and speed on many matrices, beside what the paper published."""

from linforest_precond.study.run import run_study as run_study
