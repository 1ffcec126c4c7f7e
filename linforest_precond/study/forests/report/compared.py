"""Values of a case beside the published ones."""

from __future__ import annotations

from typing import Any

from linforest_precond.study import formats
from linforest_precond.study.forests.tables import Quantity, compare, of_the_paper
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import compared
from linforest_precond.study.report.markup import Html


def compared_cell(case: JsonObject, quantity: Quantity) -> Html:
    """Our value, and below it in small print the paper's with the difference."""
    ours, published, difference, departs = compare(case, quantity)
    if published is None:
        return compared(_value(ours, quantity), None)
    # Counts depend on the size of the matrix: their difference is meaningful at the paper's size only.
    due = quantity.digits != 0 or of_the_paper(case)
    change = None
    if difference is not None and quantity.digits is not None and due:
        change = formats.difference(difference, quantity.digits)
    return compared(_value(ours, quantity), _value(published, quantity), change, departs)


def _value(value: Any, quantity: Quantity) -> str:
    if quantity.digits is None:
        return formats.yes_no(value)
    return formats.count(value) if quantity.digits == 0 else formats.fixed(value, quantity.digits)
