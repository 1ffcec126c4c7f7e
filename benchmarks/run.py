"""Run all benchmarks and their reference implementations, and print a table of the ratios.

    python -m benchmarks.run [--device cuda|cpu] [--out benchmarks/results/NAME.json] [--quick]
        [--only MODULE ...]

Times are medians of many calls after warm-up; on the GPU between CUDA events. The results, with raw samples,
machine, versions and hashes of the code, are written to a JSON file;
`python -m benchmarks.pages.table --write` puts them into benchmarks/PERFORMANCE.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from pathlib import Path

from benchmarks.measures import (
    busy_cores,
    cpu,
    first_calls,
    graph_kernels,
    orderings,
    provenance,
    results,
    stacks,
)
from benchmarks.pages import table
from benchmarks.systems import cases
from linforest_precond.backends import cuda_status


def main(arguments=None) -> int:
    options = parse(arguments)
    usable, reason = cuda_status()
    device = options.device or ("cuda" if usable else "cpu")
    if device == "cuda" and not usable:
        print(f"--device cuda needs a usable GPU: {reason}", file=sys.stderr)
        return 2
    document = {"schema": results.SCHEMA, "quick": options.quick, **provenance.surroundings(device)}
    path = Path(options.out) if options.out else default_path(document, options)
    for rows, failures in measure(device, cases.QUICK if options.quick else cases.FULL, options.only):
        document |= {"failures": failures, "rows": [row.as_dict() for row in rows]}
        if path:
            results.write(unfinished(path), document)
    print("\n" + table.plain(document))
    if path:
        unfinished(path).replace(path)
        print(f"\nwritten to {path}")
    return 1 if document["failures"] else 0


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), help="default: cuda where a GPU is usable, else cpu"
    )
    parser.add_argument("--out", help="results file (default: benchmarks/results/DEVICE.json)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, as a test; written with --out only")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="MODULE",
        help="modules of benchmarks, such as multigrid_systems, or measurements of one by words of its "
        "titles, such as multigrid_systems:large; written to a file of their own",
    )
    return parser.parse_args(arguments)


def measure(device, plan, only=None):
    """Yield all rows so far and all failures; a failed measurement does not stop the others."""
    yield from collect(measurements(device, plan, only))


def collect(chosen):
    """The same of given pairs of a title and a function that yields rows."""
    rows, failures = [], []
    for title, measurement in chosen:
        start = time.perf_counter()
        try:
            for row in measurement():
                rows.append(row)
        except Exception as error:
            traceback.print_exc()
            failures.append(f"{title}: {type(error).__name__}: {error}")
        print(f"{title}: {time.perf_counter() - start:.1f} s", flush=True)
        yield rows, failures


def measurements(device, plan, only=None):
    """All pairs of a title and a function that yields rows, or those that `only` names.

    "MODULE" names those of a module, "MODULE:WORDS" those of them with these words in their title.
    """
    modules = {}
    if device == "cuda":
        from benchmarks.measures import (
            coarsening,
            forest_setup,
            krylov,
            multigrid_systems,
            preconditioners,
            setups,
            stronger_preconditioners,
            tridiagonal_solves,
        )

        on_gpu = (
            forest_setup,
            tridiagonal_solves,
            preconditioners,
            setups,
            stronger_preconditioners,
            krylov,
            coarsening,
            multigrid_systems,
        )
        modules |= {module.__name__.rpartition(".")[2]: module.measurements(plan) for module in on_gpu}
    modules |= {
        "orderings": orderings.measurements(plan, device),
        "graph_kernels": graph_kernels.measurements(plan, device),
        "stacks": stacks.measurements(plan, device),
        "cpu": cpu.measurements(plan),
        "busy_cores": busy_cores.measurements(plan),
        "first_calls": first_calls.measurements(plan, device),
    }
    modules = {name: list(pairs) for name, pairs in modules.items()}
    unknown = {name.partition(":")[0] for name in only or ()} - set(modules)
    if unknown:
        names = ", ".join(modules)
        raise SystemExit(f"--only must name modules among {names}, got {', '.join(sorted(unknown))}")
    return [pair for name in only or modules for pair in named(modules, name)]


def named(modules, name):
    """The measurements of "MODULE" or "MODULE:WORDS"."""
    module, _, words = name.partition(":")
    found = [(title, rows) for title, rows in modules[module] if words in title]
    if not found:
        titles = "; ".join(title for title, _ in modules[module])
        raise SystemExit(f"--only {name}: the words must be those of a title among {titles}")
    return found


def unfinished(path):
    """The file for results of a run in progress."""
    return path.with_suffix(".unfinished")


def default_path(document, options):
    """One file per kind of machine and choice of modules; a new run replaces the last one."""
    if options.quick:
        return None
    where = document["machine"]
    name = where.get("gpu") or f"{where['cpu']} {where['cores']} cores"
    name = " ".join([name, *(options.only or ())])
    return results.FOLDER / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.json"


if __name__ == "__main__":
    sys.exit(main())
