"""Install the wheel and the source archive into empty environments, and try them there; for ``make dist``.

    python packaging/check_dist.py dist [--cupy cupy-cuda13x]

Each is tried without CuPy; the wheel also with the CuPy that ``--cupy`` names, which need not find a GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

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
    trials = [(wheel, None), (archive, None)]
    if options.cupy:
        trials.append((wheel, options.cupy))
    for path, cupy in trials:
        print(f"{path.name}{f' with {cupy}' if cupy else ''}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try_in_empty_environment(path.resolve(), cupy, Path(folder))


def try_in_empty_environment(path: Path, cupy: str | None, folder: Path) -> None:
    venv.create(folder / "environment", with_pip=True)
    commands = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    run(folder, commands / "python", "-m", "pip", "install", "--quiet", path, *([cupy] if cupy else []))
    run(folder, commands / "python", "-c", TRIAL, "cupy" if cupy else "no cupy")
    run(folder, commands / "linforest", "--help", stdout=subprocess.DEVNULL)


def run(folder: Path, *command: object, stdout: int | None = None) -> None:
    """Run a command outside of the checkout, without its packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=folder, env=environment, stdout=stdout, check=True)


if __name__ == "__main__":
    main()
