"""Options by name and type, without PETSc: read from the signatures of the functions."""

import sys

import pytest

import linforest_precond.petsc
from linforest_precond.distributed.petsc.options import FUNCTIONS, PCSettings, converted


@pytest.mark.parametrize(
    "text, annotation, value",
    [
        ("3", "int", 3),
        ("-1", "int", -1),
        ("auto", "int | str | None", "auto"),
        ("7", "int | str | None", 7),
        ("None", "int | str | None", None),
        ("1,5", "int | tuple[int, ...] | str", (1, 5)),
        ("auto", "int | tuple[int, ...] | str", "auto"),
        ("0.25", "float | None", 0.25),
        ("2", "float", 2.0),
        ("", "bool", True),
        ("No", "bool", False),
        ("float32", "npt.DTypeLike | None", "float32"),
        ("adaptive", "Any", "adaptive"),
        ("adaptive,4", "Any", ("adaptive", 4)),
    ],
)
def test_text_becomes_what_the_argument_takes(text, annotation, value):
    found = converted("-pc_linforest_x", text, annotation)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text, annotation",
    [("3.5", "int"), ("", "int"), ("none", "int"), ("x", "float"), ("maybe", "bool"), ("", "str")],
)
def test_text_of_another_type_is_refused_by_name(text, annotation):
    with pytest.raises(ValueError, match="-sub_pc_linforest_x must be"):
        converted("-sub_pc_linforest_x", text, annotation)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_every_argument_has_a_type_that_text_can_have(kind):
    """A new argument of a function must not go unnoticed: one word or number fits each annotation."""
    for name, annotation in PCSettings(kind).parameters.items():
        assert any(fits(annotation, text) for text in ("1", "true", "auto")), name


def fits(annotation, text):
    try:
        converted("", text, annotation)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "wrong, named",
    [({"kind": "sor"}, "kind"), ({"scope": "all"}, "scope"), ({"kind": "jacobi", "seed": 1}, "seed")],
)
def test_keyword_arguments_that_there_are_not_are_refused(wrong, named):
    with pytest.raises(ValueError, match=named):
        PCSettings.of(wrong)


def test_without_petsc4py_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "petsc4py", None)
    with pytest.raises(ImportError, match=r"linforest-precond\[petsc\]"):
        linforest_precond.petsc.PC()
