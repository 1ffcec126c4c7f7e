"""The codes of Krylov solvers: one table, which the solvers, both backends and the kernels follow."""

import re

import numpy as np
import pytest

from linforest_precond.backends.cpu.krylov import updates
from linforest_precond.backends.cpu.krylov.vector_space import KrylovSpace
from linforest_precond.backends.cuda.runtime import structs
from linforest_precond.backends.cuda.runtime.loader import PROGRAMS
from linforest_precond.backends.krylov_codes import (
    UPDATES,
    CycleStep,
    MinresNumber,
    NumberSlot,
    ReportHead,
    RunningState,
    ScalarSlot,
    ScalarStep,
    StatusCode,
    VectorUpdate,
)
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.solvers import Status

PREFIXES = {
    "STATUS_": (StatusCode, RunningState),
    "STEP_": (ScalarStep,),
    "SCALAR_": (ScalarSlot,),
    "NUMBER_": (NumberSlot,),
    "MINRES_": (MinresNumber,),
    "CYCLE_": (CycleStep,),
    "REPORT_": (ReportHead,),
    "FOUND_": (PivotFinding,),
}
# Set by the solvers: after the iterations ran out, and after the residual was verified.
NOT_IN_KERNELS = {"STATUS_MAXITER", "STATUS_STAGNATED", "STATUS_TIME_LIMIT", "STATUS_UNATTAINABLE"}


def kernel_text(program):
    """A program with its headers, comments removed."""
    return re.sub(r"//[^\n]*", "", PROGRAMS[program].text())


def space():
    return KrylovSpace(
        3, 1, np.float64, (), targets=np.zeros(1), largest_growth=1.0, most_iterations=1, inner=None
    )


def test_every_status_has_a_name_and_advice_for_users():
    assert {status.name: int(status) for status in Status} == {code.name: int(code) for code in StatusCode}
    assert all(status.advice for status in Status)


def test_running_states_differ_from_the_statuses_that_backends_set():
    set_by_backends = set(StatusCode) - {StatusCode.MAXITER}
    assert not {int(code) for code in set_by_backends} & {int(state) for state in RunningState}


SOURCES = "krylov/updates", "krylov/arnoldi", "krylov/idr", "tridiagonal/pivots"


@pytest.mark.parametrize("program", [*SOURCES, "krylov/spmv"])
def test_kernels_use_the_codes_of_the_tables_and_no_others(program):
    text = kernel_text(program)
    for prefix, tables in PREFIXES.items():
        defined = {f"{prefix}{member.name}" for table in tables for member in table} | {f"{prefix}COUNT"}
        assert set(re.findall(rf"\b{prefix}\w+", text)) <= defined


def test_kernels_handle_every_code():
    texts = [kernel_text(program) for program in SOURCES]
    for prefix, tables in PREFIXES.items():
        for member in (member for table in tables for member in table):
            name = f"{prefix}{member.name}"
            # Once in the generated header, and then where it is used.
            uses = max(len(re.findall(rf"\b{name}\b", text)) for text in texts)
            assert uses > 1 or name in NOT_IN_KERNELS, name


def test_both_backends_have_every_update():
    assert set(UPDATES) == set(updates.COEFFICIENTS) == set(VectorUpdate)
    assert set(VectorUpdate) <= set(updates.KERNELS)
    kernels = re.findall(r"(\w+)\(KrylovSpace space", kernel_text("krylov/updates"))
    assert {update.value for update in VectorUpdate} <= set(kernels)


def test_both_backends_have_every_scalar_step():
    apart = {ScalarStep.START, ScalarStep.ERROR}  # `start` and `record_error` on the CPU
    assert set(space().scalar_steps) == set(ScalarStep) - apart
    cases = re.findall(r"case STEP_(\w+):", kernel_text("krylov/updates"))
    assert set(cases) == {step.name for step in ScalarStep}


def test_tables_are_numbered_without_gaps():
    for table in (ScalarStep, ScalarSlot, NumberSlot, MinresNumber, CycleStep, ReportHead, PivotFinding):
        assert [int(member) for member in table] == list(range(len(table)))


def test_generated_headers_are_part_of_programs():
    texts = [program.text() for program in PROGRAMS.values()]
    for file, header in structs.HEADERS.items():
        assert any(f'kernels/{file}"' in text and header in text for text in texts)


def test_the_text_of_a_generated_header(monkeypatch):
    monkeypatch.setattr(structs, "HEADERS", {})
    tables = {"enums": [("STEP_", ScalarSlot)], "constants": [("S_", RunningState)]}
    structs.generate_header("room/codes.cuh", **tables, MOST=2)
    assert structs.HEADERS["room/codes.cuh"].splitlines() == [
        "#define MOST 2",
        "#define S_RUNNING 1.0",
        "#define S_HALF 2.0",
        "#define S_LIMIT 3.0",
        "enum ScalarSlot { STEP_RHO = 0, STEP_ALPHA = 1, STEP_BETA = 2, STEP_OMEGA = 3, STEP_COUNT = 4 };",
    ]
