"""Systems that scikit-fem, FiPy, PyMatting and pandapower assemble, for `benchmarks/pages/solve_times.py`.

    python -m benchmarks.systems.gallery --out FOLDER [--size small|medium] [--only PATTERN]

Each is written to an .npz file, which machines without these packages can load. The extra `gallery` installs
them; systems whose package is missing are left out with a message.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from benchmarks.systems.assembled import Assembled

# The modules with systems, by the package that they need.
MODULES = {
    "skfem": "gallery_finite_elements",
    "fipy": "gallery_finite_volumes",
    "pymatting": "gallery_images",
    "pandapower": "gallery_power_grids",
}
SIZES = ("small", "medium")


def systems(package, size="medium"):
    """(name, function that assembles it) of all systems of a package; the names are those of the files."""
    module = importlib.import_module(f"benchmarks.systems.{MODULES[package]}")
    for title, (make, *sizes) in module.SYSTEMS.items():
        value = sizes[SIZES.index(size)]
        if value is not None:
            yield "-".join(re.findall(r"[a-z0-9.]+", f"{package} {title}".lower())), partial(make, value)


def saved(folder):
    """(name, function that loads it) of all systems in a folder."""
    for path in sorted(Path(folder).glob("*.npz")):
        yield path.stem, partial(Assembled.load, path)


def write(folder, size, pattern) -> None:
    for package in MODULES:
        try:
            found = dict(systems(package, size))
        except ImportError as error:
            print(f"no systems of {package}: {error}", file=sys.stderr)
            continue
        for name, make in found.items():
            if fnmatch(name, pattern):
                write_one(folder / f"{name}.npz", make)


def write_one(path, make) -> None:
    start = time.perf_counter()
    system = make()
    spent = time.perf_counter() - start
    system.save(path)
    rows, entries, megabytes = system.A.shape[0], system.A.nnz, path.stat().st_size / 1e6
    print(f"{path.stem}: {rows:,} rows, {entries:,} entries, {spent:.1f} s, {megabytes:.2f} MB", flush=True)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="of names, such as 'fipy-*'")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out, options.size, options.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
