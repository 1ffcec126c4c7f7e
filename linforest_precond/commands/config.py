"""``linforest config``: what is installed, and which devices are usable."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from linforest_precond.config import show_config

HELP = "show versions, threads, and whether a GPU is usable (and why not)"
EPILOG = "The same from Python: linforest_precond.show_config()"


def add_arguments(parser: ArgumentParser) -> None:
    """Nothing to choose."""


def run(arguments: Namespace) -> int:
    show_config()
    return 0
