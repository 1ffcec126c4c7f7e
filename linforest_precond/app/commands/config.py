"""``linforest config``: versions, threads and usable devices."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from linforest_precond.app.configuration import show_config

EPILOG = "The same from Python: linforest_precond.show_config()"


def add_arguments(parser: ArgumentParser) -> None:
    """The command has no options."""


def run(arguments: Namespace) -> int:
    show_config()
    return 0
