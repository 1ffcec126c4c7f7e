"""``linforest traffic``: the aggregate properties of packets or traffic matrices in files."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from linforest_precond.app.commands import inputs
from linforest_precond.backends.arguments import integer
from linforest_precond.graph import traffic_statistics

EPILOG = """\
files:
  .csv .tsv .txt   lines of a source, a destination and optionally a number of packets; addresses are integers
                   below 2^32 or IPv4 (192.0.2.1); the first line may be a header
  .npy             an array with these two or three columns
  .npz             arrays sources, destinations and optionally packets, or a matrix of scipy.sparse.save_npz
  .mtx .mat ...    a matrix: entry (i, j) is the number of packets from source i to destination j

Several files are added up: the statistics are those of all their packets. They are read piece by piece.

examples:
  linforest traffic packets.csv
  linforest traffic window1.npz window2.npz --json
  linforest traffic packets.npy --device cuda --batches 10"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="packets, or a traffic matrix")
    inputs.add_device(parser)
    parser.add_argument(
        "--batches", type=integer, metavar="N", help="pieces of each file (default: by its size)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(arguments: Namespace) -> int:
    inputs.check_device(arguments.device)
    device, batches = arguments.device, arguments.batches
    found = traffic_statistics(arguments.files, device=device, batches=batches, progress=True)
    print(json.dumps(found.as_dict(), indent=2) if arguments.json else found)
    return 0
