"""``linforest join``: pairs of similar sets of a text file, as csv."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, TypeAlias

from linforest_precond.app.commands import inputs, vectors
from linforest_precond.app.interrupts import Exit
from linforest_precond.backends.arguments import integer, number
from linforest_precond.matrices.readers.atomic_files import replacing
from linforest_precond.records.printing import as_table, one_line
from linforest_precond.similarity import fuzzy_join, join_quality, read_sets
from linforest_precond.similarity.options import BOUNDS, SIMILARITIES
from linforest_precond.similarity.verification import MATCHINGS

Sets: TypeAlias = list[frozenset[str]]
# Where no pair is found, lower thresholds are tried for at most MOST_TRIED sets of at most MOST_ELEMENTS.
LOWER, MOST_TRIED, MOST_ELEMENTS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3), 10_000, 1_000

EPILOG = """\
FILE has one set a line, in UTF-8, with white space between the elements, or what --separator names. Two sets
are similar if O / (|R| + |S| - O) is at least --threshold, where O is the weight of a matching between their
elements.

The csv has the numbers of the two lines (from 0), their similarity, and an upper bound on it. By default it
is FILE.pairs.csv in the current folder. No file is overwritten without --force.

examples:
  linforest join tags.txt
  linforest join tags.txt --separator , --threshold 0.8 --out pairs.csv
  linforest join customers.txt suppliers.txt --similarity edit
  linforest join tags.txt --bound upper --assess
  linforest join tags.txt --matching paz_schwartzman --device cuda"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a text file with one set a line")
    parser.add_argument(
        "other", metavar="FILE2", nargs="?", help="the sets to join with (default: FILE itself)"
    )
    parser.add_argument("--separator", metavar="TEXT", help="between elements (default: white space)")
    parser.add_argument("--threshold", type=number, default=0.7, help="least similarity (default: 0.7)")
    parser.add_argument("--q", type=integer, default=3, help="length of tokens (default: 3)")
    parser.add_argument(
        "--similarity", choices=SIMILARITIES, default="jaccard", help="of two elements (default: jaccard)"
    )
    parser.add_argument(
        "--matching",
        choices=MATCHINGS,
        default="greedy",
        help="how candidates are verified (default: greedy)",
    )
    parser.add_argument(
        "--bound",
        choices=BOUNDS,
        default="matching",
        help="matching (the default): no pair is reported wrongly; upper: no similar pair is missed",
    )
    parser.add_argument(
        "--assess", action="store_true", help="run the exact join, too, and print recall and precision"
    )
    inputs.add_device(parser)
    parser.add_argument("--out", metavar="FILE.csv", help="file for the pairs (default: FILE.pairs.csv)")
    parser.add_argument("--force", action="store_true", help="overwrite the file")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: Namespace) -> int:
    path = Path(arguments.out or f"{inputs.plain_name(arguments.file)}.pairs.csv")
    vectors.check_output(path, (), "--out", arguments.force, (arguments.file, arguments.other))
    inputs.check_device(arguments.device)
    sets = read_sets(arguments.file, arguments.separator)
    others = None if arguments.other is None else read_sets(arguments.other, arguments.separator)
    options: dict[str, Any] = {name: getattr(arguments, name) for name in ("threshold", "q", "similarity")}
    chosen = {name: getattr(arguments, name) for name in ("matching", "bound", "device")}
    found = fuzzy_join(sets, others, **options, **chosen, progress=not arguments.quiet)
    with replacing(path) as unfinished:
        found.to_csv(unfinished)
    print(found)
    if not len(found) and _is_small([*sets, *(others or ())]):
        print(_of_lower_thresholds(sets, others, {**options, **chosen}))
    if arguments.assess:
        print(join_quality(found, fuzzy_join(sets, others, **options, matching="exact")))
    print(as_table("written", ("pairs", one_line(str(path)))))
    return Exit.DONE


def _is_small(sets: Sets) -> bool:
    """Whether joins with lower thresholds take little time and memory."""
    return len(sets) <= MOST_TRIED and max(map(len, sets), default=0) <= MOST_ELEMENTS


def _of_lower_thresholds(sets: Sets, others: Sets | None, options: dict[str, Any]) -> str:
    """A sentence on the first lower threshold that would find pairs."""
    threshold = options.pop("threshold")
    lower = [least for least in LOWER if least < threshold]
    for least in lower:
        count = len(fuzzy_join(sets, others, threshold=least, **options))
        if count:
            words = "1 pair" if count == 1 else f"{count:,} pairs"
            return f"No pair reaches {threshold:g}; --threshold {least:g} would find {words}."
    return f"No pair reaches {threshold:g}{f', nor {lower[-1]:g}' if lower else ''}."
