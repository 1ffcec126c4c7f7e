"""The HTML report of a study, one module per section."""

from linforest_precond.study.report.page import write_report as write_report
