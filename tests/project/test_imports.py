"""Layers and subpackages import downwards only; no import cycles."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "linforest_precond"
# Rooms from the lowest to the highest; modules that are not listed belong to the highest layer.
LAYERS = (
    "package_imports", "backends", "interop.dlpack", "matrix", "records", "matrices", "graph", "similarity",
    "solvers", "precond", "chooser", "distributed", "interop",
)  # fmt: skip
# In each backend, from the lowest to the highest.
ROOMS = (
    "runtime", "matrix", "forest", "matching", "csgraph", "reordering", "tridiagonal", "ilu",
    "approximate_inverse", "direct", "multigrid", "krylov", "similarity",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not (ROOT / PACKAGE).exists(), reason="tests run outside a source tree")


def sources():
    """{module: path} of every module, those of solvers/ and matrices/ included."""
    folders = {
        PACKAGE: ROOT / PACKAGE,
        **{f"{PACKAGE}.{name}": ROOT / name for name in ("solvers", "matrices")},
    }
    found = {}
    for package, folder in folders.items():
        for path in folder.rglob("*.py"):
            inside = path.relative_to(folder).with_suffix("")
            if package == PACKAGE and inside.parts[0] in ("solvers", "matrices"):
                continue  # the symbolic links
            parts = [package, *inside.parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(module, path, known):
    """Every module of the package that a module imports, at its top or inside a function."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [full if (full := f"{base}.{alias.name}") in known else base for alias in node.names]
        else:
            continue
        yield from (name for name in names if name in known and name != module)


@pytest.fixture(scope="module")
def graph():
    known = sources()
    return {module: sorted(set(imports(module, path, known))) for module, path in known.items()}


def circle(graph):
    """The vertices of one directed cycle, or None."""
    state, way = {}, []

    def visit(vertex):
        state[vertex] = "open"
        way.append(vertex)
        for other in graph.get(vertex, ()):
            if state.get(other) == "open":
                return way[way.index(other) :]
            if other not in state and (found := visit(other)):
                return found
        way.pop()
        state[vertex] = "done"
        return None

    return next((found for vertex in graph if vertex not in state and (found := visit(vertex))), None)


def layer(module):
    """The number of a module's layer; a package's `__init__` counts as the highest module inside it."""
    inside = module.removeprefix(PACKAGE).removeprefix(".")
    fitting = [i for i, name in enumerate(LAYERS) if inside == name or inside.startswith(f"{name}.")]
    return min(fitting, default=len(LAYERS))


def room(module):
    parts = module.split(".")
    return next((ROOMS.index(part) for part in parts[3:4] if part in ROOMS), len(ROOMS))


def test_no_two_modules_import_each_other(graph):
    assert circle(graph) is None


def test_layers_import_downwards_only(graph):
    upwards = [
        (module, other) for module, found in graph.items() for other in found if layer(other) > layer(module)
    ]
    assert not upwards


# Rooms that call kernels themselves: studies measure kernels.
WITH_KERNELS = ("backends", "study")


def test_no_backend_is_imported_above_the_backends(graph):
    """A backend is asked for by `backend_of` and `backend_named`, which import it when it is first used."""
    direct = [
        (module, other)
        for module, found in graph.items()
        for other in found
        if re.match(rf"{PACKAGE}\.backends\.(cpu|cuda)\b", other)
        and module.removeprefix(f"{PACKAGE}.").split(".")[0] not in WITH_KERNELS
    ]
    assert not direct


def test_the_backend_is_asked_for_where_arrays_come_in():
    """Records and checked matrices carry their backend: few other places have to ask."""
    calls = [
        module
        for module, path in sources().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "backend_of"
    ]
    assert len(calls) <= 30


# Functions above the backends that ask which one it is, and why they may. `study` measures backends.
ASKING = {
    # The user's word, `device=`, is checked, or named in an error.
    "linforest_precond.matrices.arrays.array_modules",
    "linforest_precond.graph.matching.matching.check_matching_options",
    "linforest_precond.graph.traffic.statistics._backend",
    # Files and pickles are opened on machines without a GPU.
    "linforest_precond.precond.storage.operator_state._restored_backend",
    "linforest_precond.precond.multigrid.hierarchy.Hierarchy.__reduce__",
    # The message passing library is told of device memory.
    "linforest_precond.distributed.partition.communicator.Communicator._messages",
    "linforest_precond.distributed.partition.communicator.Communicator.allreduce",
    "linforest_precond.distributed.partition.mpi.is_aware_of_cuda",
    # Sums over ranks have the bits of one rank on the host alone.
    "linforest_precond.distributed.multigrid.vector_ops.RankVectorOps.__init__",
    "linforest_precond.distributed.forest.bands.band_rows",
}


def asks_for_a_backend(node):
    """Whether an expression branches on a backend's name, a type of CuPy, or a table keyed by backends."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        operands = [each for side in sides for each in getattr(side, "elts", [side])]
        return any(
            getattr(each, "value", None) in ("cpu", "cuda")
            or getattr(getattr(each, "func", None), "id", None) == "backend_named"
            for each in operands
        )
    if isinstance(node, ast.Dict):
        return {getattr(key, "value", None) for key in node.keys} >= {"cpu", "cuda"}
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        of_cupy = name == "isinstance" and "cupy" in ast.unparse(node.args[1])
        return of_cupy or name == "is_cupy"
    return isinstance(node, ast.Constant) and node.value == "__cuda_array_interface__"


def functions_that_ask(module, tree):
    """The names of the functions of a module, or the module's own, that ask for a backend."""

    def visit(node, name):
        own = isinstance(node, ast.FunctionDef | ast.ClassDef)
        name = f"{name}.{node.name}" if own else name
        if asks_for_a_backend(node):
            yield name
        for child in ast.iter_child_nodes(node):
            yield from visit(child, name)

    return set(visit(tree, module))


def test_no_branch_asks_for_the_backend_above_the_backends():
    """What differs between backends is a property or a function of theirs."""
    above = {
        module: path
        for module, path in sources().items()
        if not re.match(rf"{PACKAGE}\.(backends|interop|study)\b", module)
    }
    found = {
        name
        for module, path in above.items()
        for name in functions_that_ask(module, ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == ASKING


@pytest.mark.parametrize(
    "code",
    [
        'if backend.name == "cpu": pass', 'if device in ("cuda", None): pass', "if is_cupy(type(x)): pass",
        'costs = {"cpu": 1, "cuda": 2}', "if isinstance(x, cupy.ndarray): pass",
        'if library is not backend_named("cpu"): pass', 'hasattr(x, "__cuda_array_interface__")',
    ],
)  # fmt: skip
def test_branches_are_found(code):
    assert functions_that_ask("module", ast.parse(code)) == {"module"}
    assert not functions_that_ask("module", ast.parse('backend_named("cpu").matrix if csr.n else None'))


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_subpackages_of_a_backend_import_downwards_only(graph, backend):
    inside = f"{PACKAGE}.backends.{backend}."
    upwards = [
        (module, other)
        for module, found in graph.items()
        for other in found
        if module.startswith(inside) and other.startswith(inside) and room(other) > room(module)
    ]
    assert not upwards


def test_kernels_include_downwards_only():
    kernels = ROOT / PACKAGE / "backends" / "cuda" / "kernels"
    included = [
        (path.relative_to(kernels).parts[0], other.partition("/")[0])
        for path in kernels.rglob("*.cu*")
        for other in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8"))
    ]
    assert included and all(ROOMS.index(other) <= ROOMS.index(own) for own, other in included)


def test_a_cycle_is_found():
    assert circle({"a": ["b"], "b": ["c"], "c": ["a"], "d": []}) == ["a", "b", "c"]
    assert circle({"a": ["b"], "b": []}) is None


def test_modules_of_tests_have_names_of_their_own():
    """Folders of tests are no packages: two modules of one name would hide each other."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py")]
    assert len(names) > 100
    assert {name for name in names if names.count(name) > 1} == set()
