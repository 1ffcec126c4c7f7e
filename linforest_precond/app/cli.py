"""The command ``linforest``: argument parsing, one-line errors and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn

import linforest_precond
from linforest_precond.app import interrupts
from linforest_precond.app.interrupts import EXIT_CODES, Exit
from linforest_precond.records import printing

# Modules of `commands`, imported on use.
COMMANDS = {
    "study": "repeat the measurements of a paper and write a report (HTML, tables, pictures)",
    "info": "show properties of a matrix, and coverage and cost of each preconditioner",
    "solve": "solve A x = b with a preconditioner, show the convergence history, and write x",
    "traffic": "show the aggregate properties of network traffic: packets, links, sources and destinations",
    "join": "find pairs of similar sets of strings in a text file, despite noise, and write them as csv",
    "warmup": "compile the kernels ahead of time, with a progress bar",
    "config": "show versions, threads, and whether a GPU is usable (and why not)",
}
# Words of other programs that look like another one of ours.
OTHER_WORDS = {"gpu": "cuda"}
EXAMPLES = """\
examples:
  linforest info aniso2:300           properties of a matrix, coverage and cost of each preconditioner
  linforest info matrix.mtx           the same for a file
  linforest solve matrix.mtx          solve A x = b, and show the convergence history
  linforest study                     the convergence study on small matrices, with an HTML report
  linforest join tags.txt             pairs of similar lines of a text file
  linforest COMMAND --help            all options of a command

"""


class _UsageError(Exception):
    """Invalid arguments."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, with the nearest known word, instead of printing all options."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r": '?([^',]*)'? (?:\(choose from|is none of) (.*)", message)
        hint = "" if choice is None else _nearest(choice[1], re.findall(r"[\w-]+", choice[2]))
        raise _UsageError(f"{message}{hint} (see {self.prog} --help)")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Report arguments that the command does not have."""
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
        hint = _nearest(option, list(self._option_string_actions)) if option else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _nearest(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant, as the end of a message."""
    close = difflib.get_close_matches(OTHER_WORDS.get(word, word.lower()), known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, by default those of the process; an exit code of `Exit`.

    Examples
    --------
    >>> from linforest_precond.app.cli import main
    >>> main(["solve", "poisson2d:10", "--no-out"])  # doctest: +ELLIPSIS
    poisson2d:10: ...
    0
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in argv
    try:
        parser = _parser(argv)
        interrupts.end_of_imports()
        _encode_everything()
        arguments, unknown = parser.parse_known_args(argv)
        if unknown:
            arguments.command.refuse(unknown)
        with _short_warnings():
            code = arguments.run(arguments)
        _flush()  # raises BrokenPipeError here, not while Python shuts down
        return int(code)
    except BrokenPipeError:
        _discard_output()
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        return _failed("interrupted", Exit.INTERRUPTED, debug)
    except Exception as error:
        return _failed(f"error: {_one_line(error)}", _exit_code(error), debug)


def _exit_code(error: Exception) -> Exit:
    # If the module was not imported, nothing can have raised its exceptions.
    errors = sys.modules.get("linforest_precond.matrices.download.places")
    missing = FileNotFoundError if errors is None else (FileNotFoundError, errors.MatrixNotAvailable)
    return Exit.NOT_AVAILABLE if isinstance(error, missing) else Exit.ERROR


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, with the options of the command that the arguments name."""
    parser = _Parser(
        prog="linforest",
        description="Preconditioners from linear forests of sparse matrices: inspect a matrix, solve a "
        "linear system, or run the convergence study.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = linforest_precond.__version__
    parser.add_argument("--version", action="version", version=f"linforest {version}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    named = next((word for word in argv if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        one = commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == named:
            _add_command(one, name)
    return parser


def _add_command(parser: argparse.ArgumentParser, name: str) -> None:
    command = importlib.import_module(f"linforest_precond.app.commands.{name}")
    text = COMMANDS[name]
    parser.description = text[0].upper() + text[1:] + "."
    parser.epilog = command.EPILOG + "\n\nlinforest --help lists the exit codes."
    command.add_arguments(parser)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=command.run, command=parser)


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as one line on stderr, without the source line."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"linforest: warning: {_one_line(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _failed(message: str, code: Exit, debug: bool) -> Exit:
    """Print the message in one line; with debug, re-raise the exception."""
    if debug and sys.exc_info()[0] is not None:
        raise
    print(f"linforest: {message}", file=sys.stderr)
    try:
        _flush()
    except OSError:  # the disk of the output is full
        _discard_output()
    return code


def _one_line(error: object) -> str:
    """The text of an exception or a warning in one line, with its type where the text alone is unclear."""
    text = printing.one_line(str(error))
    bare = isinstance(error, KeyError | AttributeError | AssertionError | IndexError | MemoryError)
    return f"{type(error).__name__}: {text}" if bare or not text else text


def _encode_everything() -> None:
    """Print characters that the encoding of the standard output lacks as escapes instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:  # None: the standard output was closed by the shell
        sys.stdout.flush()


def _discard_output() -> None:
    """Discard unflushed output, which would raise again while Python shuts down."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
