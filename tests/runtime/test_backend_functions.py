"""Both backends offer what the code above them calls: the same modules, functions and arguments."""

import ast
import functools
import importlib
import inspect
import pkgutil
import typing
from pathlib import Path
from types import ModuleType

import pytest

import linforest_precond
from linforest_precond import backends

PACKAGE = Path(linforest_precond.__file__).parent
ROOMS = {name for name, kind in typing.get_type_hints(backends.Backend).items() if kind is ModuleType}


def backend(name):
    return importlib.import_module(f"{backends.__name__}.{name}")


def modules_of(name):
    """{(room, module)} of a backend."""
    found = pkgutil.walk_packages(backend(name).__path__, f"{backend(name).__name__}.")
    return {tuple(module.name.split(".")[-2:]) for module in found if module.name.count(".") == 4}


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_a_backend_imports_its_rooms_and_their_modules(name):
    found = backend(name)
    assert {"name", "max_rows", "checks_shared_arrays"} <= set(vars(found)) and found.name == name
    assert {room for room, _ in modules_of(name)} == ROOMS
    assert all(hasattr(getattr(found, room), module) for room, module in modules_of(name))


@pytest.mark.parametrize(("room", "module"), sorted(modules_of("cpu") & modules_of("cuda")))
def test_functions_of_the_same_name_have_the_same_arguments(room, module):
    """Those of the CPU; the CUDA backend may have more, which are optional."""
    cpu, cuda = (getattr(getattr(backend(name), room), module) for name in ("cpu", "cuda"))
    for name, function in vars(cuda).items():
        own = inspect.isroutine(function) or inspect.isclass(function)
        if name.startswith("_") or not own or function.__module__ != cuda.__name__ or not hasattr(cpu, name):
            continue
        wanted = list(inspect.signature(getattr(cpu, name)).parameters.values())
        found = list(inspect.signature(function).parameters.values())
        assert [(each.name, each.kind) for each in found[: len(wanted)]] == [
            (each.name, each.kind) for each in wanted
        ], name
        assert all(each.default is not each.empty for each in found[len(wanted) :]), name


def dotted_names(node, variables):
    """(room, module, name) of an expression `backend.room.module.name`, or less where it is shorter."""
    names = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "backend_named":
        return ()  # of one backend only
    if isinstance(node, ast.Name):
        names[:0] = variables.get(node.id, ())
    return tuple(names[next((i for i, name in enumerate(names) if name in ROOMS), len(names)) :])


def rooms_in_variables(tree):
    """{variable: (room,) or (room, module)} of the assignments of rooms and modules to variables."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            are_tuples = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for left, right in zip(target.elts, value.elts) if are_tuples else [(target, value)]:
                names = dotted_names(right, {})
                if isinstance(left, ast.Name) and len(names) in (1, 2):
                    found[left.id] = names
    return found


@functools.cache
def calls():
    """{(room, module, name): calls} of the functions of backends that the code above them calls."""
    found = {}
    for function in functions_above():
        variables = rooms_in_variables(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and len(names := dotted_names(node.func, variables)) == 3:
                found.setdefault(names, []).append(node)
    return found


def functions_above():
    """The functions of all modules outside the backends; `solvers` may be a symbolic link."""
    for path in {*PACKAGE.rglob("*.py"), *(PACKAGE / "solvers").rglob("*.py")}:
        if not path.is_relative_to(PACKAGE / "backends"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            yield from (node for node in nodes if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_every_call_of_a_backend_fits_its_function(name):
    assert len(calls()) > 100
    for (room, module, function), nodes in calls().items():
        signature = inspect.signature(getattr(getattr(getattr(backend(name), room), module), function))
        for node in nodes:
            named = {keyword.arg: None for keyword in node.keywords}
            if None not in named and not any(isinstance(value, ast.Starred) for value in node.args):
                signature.bind(*node.args, **named)  # raises an error if not
