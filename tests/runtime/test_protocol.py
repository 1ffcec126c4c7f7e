"""Both backends offer what `backends.protocol` names: the same modules, functions and arguments."""

import importlib
import inspect
import typing

import pytest

from linforest_precond import backends
from linforest_precond.backends.protocol import Backend

NOT_ROOMS = {"name", "max_rows", "checks_shared_indices", "xp"}


def functions():
    """(room, module, function, names of the arguments) of everything that the protocols name."""
    for room, room_type in typing.get_type_hints(Backend).items():
        if room in NOT_ROOMS:
            continue
        for module, module_type in typing.get_type_hints(room_type).items():
            for name, function in vars(module_type).items():
                if inspect.isfunction(function) and not name.startswith("_"):
                    yield room, module, name, list(inspect.signature(function).parameters)[1:]


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize(("room", "module", "name", "arguments"), list(functions()))
def test_function_has_the_arguments_of_the_protocol(backend, room, module, name, arguments):
    found = importlib.import_module(f"{backends.__name__}.{backend}.{room}.{module}")
    assert list(inspect.signature(getattr(found, name)).parameters) == arguments


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_rooms_import_their_modules(backend):
    found = importlib.import_module(f"{backends.__name__}.{backend}")
    assert {"name", "max_rows", "checks_shared_indices"} <= set(vars(found)) and found.name == backend
    for room, module, _, _ in functions():
        assert hasattr(getattr(found, room), module)


def constants():
    """(room, module, name) of the constants that the protocols name."""
    for room, room_type in typing.get_type_hints(Backend).items():
        if room not in NOT_ROOMS:
            for module, module_type in typing.get_type_hints(room_type).items():
                for name in typing.get_type_hints(module_type):
                    yield room, module, name


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize(("room", "module", "name"), list(constants()))
def test_constants_are_there(backend, room, module, name):
    found = importlib.import_module(f"{backends.__name__}.{backend}.{room}.{module}")
    assert hasattr(found, name)
