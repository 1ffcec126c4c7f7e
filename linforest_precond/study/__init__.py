"""The studies repeat the measurements of papers and compare them with the published values."""

from linforest_precond.study.forests import plots as plots
from linforest_precond.study.run import run_paper as run_paper
from linforest_precond.study.run import run_study as run_study
