"""The page that shows a study, one file for each of its sections."""

from linforest_precond.study.report.page import write_report as write_report
