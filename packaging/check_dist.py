"""Install the wheel and the source archive into empty environments, and try them there; for ``make dist``.

    python packaging/check_dist.py dist [--cupy cupy-cuda13x]

The wheel is tried with each supported Python that is at hand, the archive with this one, both without CuPy;
the wheel also with the CuPy that ``--cupy`` names, which need not find a GPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13")

# Every module imports, a small system is solved, and CuPy is there or not, as it should be.
TRIAL = """
import importlib, importlib.util, pkgutil, sys
import numpy as np
import linforest_precond as lf

assert sys.prefix in lf.__file__, f"the checkout was imported: {lf.__file__}"
has_cupy = importlib.util.find_spec("cupy") is not None
assert has_cupy == (sys.argv[1] == "cupy"), f"CuPy: {has_cupy}"
names = [module.name for module in pkgutil.walk_packages(lf.__path__, "linforest_precond.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
A = lf.matrices.poisson((10, 10))
x, info = lf.solvers.cg(A, np.ones(100), M=lf.tridiagonal(A), rtol=1e-8)
assert info == 0 and np.linalg.norm(A @ x - 1) < 1e-6
print(f"{len(names)} modules import, a system is solved; linforest_precond {lf.__version__}, Python "
      f"{sys.version.split()[0]}, NumPy {np.__version__}, {'with' if has_cupy else 'without'} CuPy")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with one wheel and one source archive")
    parser.add_argument("--cupy", help="the package of CuPy to try the wheel with")
    options = parser.parse_args()
    (wheel,), (archive,) = options.folder.glob("*.whl"), options.folder.glob("*.tar.gz")
    for version in PYTHONS:
        if python := interpreter(version):
            try_in_empty_environment(wheel, python)
        else:
            print(f"{wheel.name}: not tried with Python {version}, which is not at hand", flush=True)
    try_in_empty_environment(archive, sys.executable)
    if options.cupy:
        try_in_empty_environment(wheel, sys.executable, options.cupy)


def interpreter(version: str) -> str | None:
    """A Python of this version: this one, one on the path, or one of pyenv."""
    folders = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    kept = (str(path) for path in sorted(folders.glob(f"{version}.*/bin/python")))
    found = (path for path in (sys.executable, shutil.which(f"python{version}"), *kept) if path)
    return next((path for path in found if version_of(path) == version), None)


def version_of(python: str) -> str:
    """Empty where it does not run, as a shim of pyenv without its Python."""
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", script], capture_output=True, text=True).stdout.strip()


def try_in_empty_environment(path: Path, python: str, cupy: str | None = None) -> None:
    print(f"{path.name}{f' with {cupy}' if cupy else ''}:", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, python, "-m", "venv", "environment")
        commands = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
        needed = [path.resolve(), *([cupy] if cupy else [])]
        run(folder, commands / "python", "-m", "pip", "install", "--quiet", *needed)
        run(folder, commands / "python", "-c", TRIAL, "cupy" if cupy else "no cupy")
        run(folder, commands / "linforest", "--help", stdout=subprocess.DEVNULL)


def run(folder: Path, *command: object, stdout: int | None = None) -> None:
    """Run a command outside of the checkout, without its packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=folder, env=environment, stdout=stdout, check=True)


if __name__ == "__main__":
    main()
