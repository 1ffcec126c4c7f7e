"""How the package imports: names on first use, and `matrices` and `solvers` in checkouts without links.

A package lists its names as imports under ``if TYPE_CHECKING:``, which type checkers and editors read, and
makes them available by ``__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)``. (The scheme of
Scientific Python's SPEC 1.)

`linforest_precond/matrices` and `linforest_precond/solvers` are symbolic links to the folders beside the
package. Without symbolic links, the default of Git on Windows, text files take their place, which Python does
not import from; `find_unlinked` installs an import hook then. Installed packages have the folders themselves.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

PACKAGE = Path(__file__).parent
FOLDERS = ("matrices", "solvers")
# Packages with public names, besides the one above them.
ROOMS = ("solvers", "matrices", "graph", "similarity")


def lazy_names(
    package: str,
    source: str,
    renamed: Mapping[str, str] | None = None,
    others: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package with this source file.

    `renamed` has {old name: new name}; old names give a DeprecationWarning. `others` has {name in another
    library: name here}, which errors mention.
    """
    places = _places(Path(source).read_text(encoding="utf-8"))

    def get(name: str) -> Any:
        if renamed and name in renamed:
            warnings = importlib.import_module("linforest_precond.backends.user_warnings")
            warnings.warn_deprecated(f"{package}.{name} is deprecated, use {package}.{renamed[name]}")
            return getattr(sys.modules[package], renamed[name])
        if name not in places:
            raise _unknown_name(package, name, places, others)
        module, original = places[name]
        found = importlib.import_module(module)
        if module != package and hasattr(found, original):
            value: Any = getattr(found, original)
        else:
            value = importlib.import_module(f"{module}.{original}")
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted([*places, "__version__"]), sorted(places)


def suggest_names(package: str, names: Collection[str], others: Mapping[str, str]) -> None:
    """Errors of this package about an unknown name mention the nearest of its names; `others` as above.

    `__getattr__` is set here, where type checkers do not see it: they would take any name.
    """

    def get(name: str) -> NoReturn:
        raise _unknown_name(package, name, names, others)

    vars(sys.modules[package])["__getattr__"] = get


def _unknown_name(
    package: str, name: str, names: Collection[str], others: Mapping[str, str] | None
) -> AttributeError:
    elsewhere, lower = others or {}, name.lower()
    meant = elsewhere.get(name) or elsewhere.get(lower) or _in_a_room(package, name)
    meant = meant or next(iter(difflib.get_close_matches(lower, names, 1)), None)
    hint = f": did you mean {package}.{meant}?" if meant else ""
    return AttributeError(f"module {package!r} has no attribute {name!r}{hint}")


def _in_a_room(package: str, name: str) -> str | None:
    """The public name of a room, where it is asked of the whole package."""
    if package != __package__ or name.startswith("_"):
        return None
    found = (room for room in ROOMS if name in importlib.import_module(f"{package}.{room}").__all__)
    return next((f"{room}.{name}" for room in found), None)


def _places(source: str) -> dict[str, tuple[str, str]]:
    """{name: (module, name there)} of the imports under ``if TYPE_CHECKING:``."""
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in imports
        for alias in node.names
    }


def optional_module(name: str, needed: str) -> Any:
    """A module of an extra; where it cannot be imported, the error says what needs it and how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(needed) from error


class FolderBeside:
    """An import hook that finds the packages of a checkout beside this one."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, folder = name.rpartition(".")
        if package != __package__ or folder not in FOLDERS:
            return None
        return PathFinder.find_spec(name, [str(PACKAGE.parent)])


def find_unlinked() -> None:
    """Import the folders from where they are, if this is such a checkout.

    The hook comes before those of editable installs, which may belong to another checkout.
    """
    if not all((PACKAGE / folder).is_dir() for folder in FOLDERS) and FolderBeside not in sys.meta_path:
        sys.meta_path.insert(0, FolderBeside)


STUDY_MODULES = ("matplotlib", "jinja2", "pandas")
STUDY_ADVICE = 'pip install "linforest-precond[study]"'


def study_module(name: str) -> Any:
    """A module of the extra; the error names the extra."""
    return optional_module(name, f"studies need {name.partition('.')[0]}: {STUDY_ADVICE}")


def require_extra() -> None:
    """Raise before hours of measurements where the report could not be written."""
    missing = [name for name in STUDY_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"the report needs {', '.join(missing)}: {STUDY_ADVICE}")
