"""Atomic writes: a file gets its name by a rename when it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target``, or what it links to, renamed to it at the end.

    An OSError names the target.
    """
    place = replaced_by(target)
    temporary = _temporary(place.parent, target.suffix)
    try:
        yield temporary
        os.replace(temporary, place)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)


def replaced_by(target: Path) -> Path:
    """The file that is replaced where ``target`` is written: behind symbolic links, which stay.

    FileExistsError for what is no regular file: a rename would put one in the place of a device or pipe.
    """
    place = Path(os.path.realpath(target))
    if os.path.lexists(place) and not place.is_file():
        told = "it exists and is not a regular file; folders, devices and pipes are not replaced"
        raise FileExistsError(errno.EEXIST, told, str(target))
    return place


def write_text(target: Path, text: str) -> Path:
    """Write a file in UTF-8; lone surrogates, which stand for bytes of file names, are escaped."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    return target


def check_writable(folder: Path) -> None:
    """Raise an OSError that names the folder unless files can be created in it; permissions do not tell."""
    temporary = _temporary(folder)
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(
            error.errno, f"cannot write to the folder: {error.strerror}", str(folder)
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(folder: Path, suffix: str = "") -> Path:
    """A unique short name with the target's suffix, from which writers take the format."""
    return folder / f".linforest-{uuid.uuid4().hex}{suffix}"
