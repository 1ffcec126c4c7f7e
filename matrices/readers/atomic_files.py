"""Atomic writes: a file gets its name by a rename when it is complete."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target``, renamed to it at the end; an OSError names the target."""
    temporary = _temporary(target)
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> Path:
    """Write a file in UTF-8; lone surrogates, which stand for bytes of file names, are escaped."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    return target


def check_writable(folder: Path) -> None:
    """Raise an OSError that names the folder unless files can be created in it; permissions do not tell."""
    temporary = _temporary(folder / "check")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(
            error.errno, f"cannot write to the folder: {error.strerror}", str(folder)
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(target: Path) -> Path:
    """A unique short name with the target's suffix, from which writers take the format."""
    return target.with_name(f".linforest-{uuid.uuid4().hex}{target.suffix}")
