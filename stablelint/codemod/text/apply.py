"""Writing a fixed file so that the original stays whole whatever happens."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stablelint.codemod.text.edits import apply_edits as apply_edits
from stablelint.records import dataclass


class WriteRefused(Exception):  # noqa: N818 - it says what happened to the file
    """A file, `path`, that was not written; it is as it was. The message says why, in one line, without its name."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


class FileChanged(WriteRefused):
    """The file no longer holds the bytes that were checked."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file, what it holds and what it is to hold."""

    path: Path
    before: bytes
    after: bytes


def write(path: Path, before: bytes, after: bytes) -> None:
    """Replace the content `before` of `path` by `after`, atomically.

    A symbolic link keeps pointing at its target, which is the file that is replaced; mode and, where
    permitted, owner are kept. Raises FileChanged when the file no longer holds `before`, WriteRefused when it
    is read-only or the write fails; the original is whole in every case.
    """
    write_together([Change(path, before, after)])


def write_together(changes: Sequence[Change]) -> None:
    """As `write`, for several files: where one is refused all are as they were.

    All texts are on the disk before the first file is replaced; what was replaced is put back where a later one fails.
    """
    ready: list[tuple[Change, Path, str]] = []
    done: list[Change] = []
    try:
        for change in changes:
            target = _resolved(change.path)
            status = _checked(target, change)
            if change.before != change.after:
                ready.append((change, target, _beside(target, status, change)))
        for change, target, temporary in ready:
            # The window between the check and the rename is kept as short as it can be.
            _checked(target, change)
            _renamed(temporary, target, change)
            done.append(change)
    except BaseException:  # an interrupt, too, must not leave half of the files
        for change in reversed(done):
            write(change.path, change.after, change.before)
        raise
    finally:
        for _, _, temporary in ready:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    for _, target, _ in ready:
        _sync_folder(target.parent)


def _beside(target: Path, status: os.stat_result, change: Change) -> str:
    """A temporary file beside the target, with the new text."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(change.after)
                stream.flush()
                os.fsync(stream.fileno())
            _copy_attributes(temporary, status)
        except BaseException:  # whatever ends it, nothing is left beside the file
            os.unlink(temporary)
            raise
    except OSError as error:
        raise WriteRefused(f"not written: {error.strerror or error}", change.path) from error
    return temporary


def _renamed(temporary: str, target: Path, change: Change) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise WriteRefused(f"not written: {error.strerror or error}", change.path) from error


def _resolved(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise FileChanged("cannot be found any more", path) from error


def _checked(target: Path, change: Change) -> os.stat_result:
    try:
        status = target.stat()
        content = target.read_bytes()
    except OSError as error:
        raise WriteRefused(f"cannot be read: {error.strerror or error}", change.path) from error
    if not stat.S_ISREG(status.st_mode):
        raise WriteRefused("not a regular file", change.path)
    if content != change.before:
        raise FileChanged("changed since it was checked; left alone", change.path)
    # A rename would succeed on a read-only file; the mode says that the owner does not want that.
    if not status.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise WriteRefused("not written: the file is read-only", change.path)
    return status


def _copy_attributes(temporary: str, status: os.stat_result) -> None:
    with contextlib.suppress(OSError, AttributeError):
        if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
            os.chown(temporary, status.st_uid, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    # Not every system can open a folder, and the file itself is safe by then.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
