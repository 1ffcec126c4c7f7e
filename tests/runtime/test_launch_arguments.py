"""Wrappers pass as many arguments as their kernels have: nothing else checks that without a GPU."""

import ast
import re
from pathlib import Path

from linforest_precond.backends.cuda.runtime import structs

# The place of the kernel's arguments among those of each function that launches one.
LAUNCHES = {"launch": 1, "launch_blocks": 2, "launch_tiles": 1}


def kernel_parameters():
    """{kernel: number of parameters} of all programs."""
    found = {}
    for path in structs.KERNELS.rglob("*.cu*"):
        bounds = r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)"
        text = re.sub(rf"//.*|{bounds}", "", path.read_text(encoding="utf-8"))
        for match in re.finditer(r"^KERNEL\b[^;{]*?\b(\w+)\(([^;{]*)\)\s*{", text, re.MULTILINE):
            parameters = re.sub(r"<[^<>]*>|\([^()]*\)", "", match[2])
            found[match[1]] = parameters.count(",") + bool(parameters.strip())
    return found


def length(expression, function):
    """The number of elements of a tuple, which may have a name in the function; None if unknown."""
    if isinstance(expression, ast.Name):
        given = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        given = [node for node in given if expression.id in re.findall(r"\w+", ast.unparse(node.targets[0]))]
        plain = len(given) == 1 and isinstance(given[0].targets[0], ast.Name)
        return length(given[0].value, function) if plain else None
    if not isinstance(expression, ast.Tuple):
        return None
    counts = [
        length(each.value, function) if isinstance(each, ast.Starred) else 1 for each in expression.elts
    ]
    return None if None in counts else sum(counts)


def launched():
    """(file, kernel, number of arguments) of every launch whose arguments can be counted."""
    for path in structs.KERNELS.parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                name = getattr(getattr(call, "func", None), "id", None)
                if name in LAUNCHES and isinstance(kernel := call.args[0], ast.Attribute):
                    arguments = length(call.args[LAUNCHES[name]], function)
                    if arguments is not None:
                        yield Path(path).name, kernel.attr, arguments


def test_arguments_are_counted():
    parameters, found = kernel_parameters(), set(launched())
    assert len(parameters) > 250 and len({kernel for _, kernel, _ in found}) > 120
    wrong = {each for each in found if parameters.get(each[1], each[2]) != each[2]}
    assert wrong == set()
    assert {kernel for _, kernel, _ in found} <= parameters.keys() | {"launch"}
