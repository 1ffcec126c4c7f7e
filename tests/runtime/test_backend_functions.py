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


def name_of(node):
    """The name of a variable or of an attribute of `self`, None for other expressions."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return getattr(node, "id", None)


def dotted_names(node, variables):
    """[room, module, name] of an expression `backend.room.module.name`, or less; None without a backend."""
    names = []
    while isinstance(node, ast.Attribute) and name_of(node) not in variables:
        names.insert(0, node.attr)
        node = node.value
    if name_of(node) in variables:
        return [*variables[name_of(node)], *names]
    # `backend_named` gives one backend only.
    if isinstance(node, ast.Call) and (name_of(node.func) or "").startswith("backend_of"):
        return names
    names.insert(0, name_of(node) or "")
    return next((names[i:] for i, name in enumerate(names, 1) if name.endswith("backend")), None)


def parts_in_variables(tree):
    """{variable: names} of backends, rooms and modules that are assigned to variables."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            are_tuples = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for left, right in zip(target.elts, value.elts) if are_tuples else [(target, value)]:
                names = dotted_names(right, {})
                if name_of(left) and names is not None and (not names or names[0] in ROOMS):
                    found[name_of(left)] = names
    return found


@functools.cache
def uses():
    """{(room, module, name): calls} of all that the code above uses of a backend's modules."""
    found = {}
    for scope, variables in scopes_above():
        for node in ast.walk(scope):
            names = dotted_names(getattr(node, "func", node), variables)
            if names and len(names) == 3 and names[0] in ROOMS:
                found.setdefault(tuple(names), []).extend([node] if isinstance(node, ast.Call) else [])
    return found


def scopes_above():
    """Functions and classes outside the backends, with their variables for parts of a backend."""
    for path in {*PACKAGE.rglob("*.py"), *(PACKAGE / "solvers").rglob("*.py")}:  # a symbolic link or a folder
        if path.is_relative_to(PACKAGE / "backends"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield node, parts_in_variables(node)
            elif isinstance(node, ast.ClassDef):  # its methods share the attributes of `self`
                kept = parts_in_variables(node).items()
                yield node, {name: parts for name, parts in kept if name.startswith("self.")}


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_a_backend_has_what_is_used_of_it(name):
    """Functions must fit all their calls; what is not called, such as a constant, must exist."""
    assert len(uses()) > 150
    for (room, module, attribute), calls in uses().items():
        used = getattr(getattr(getattr(backend(name), room), module), attribute)
        for node in calls:
            named = {keyword.arg: None for keyword in node.keywords}
            if None not in named and not any(isinstance(value, ast.Starred) for value in node.args):
                inspect.signature(used).bind(*node.args, **named)  # raises an error if not
