"""Writing a fixed file so that the original stays whole whatever happens."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from stablelint.codemod.text.edits import apply_edits as apply_edits


class WriteRefused(Exception):  # noqa: N818 - it says what happened to the file
    """A file that was not written; it is as it was. The message says why, in one line; it does not name the file."""


class FileChanged(WriteRefused):
    """The file no longer holds the bytes that were checked."""


def write(path: Path, before: bytes, after: bytes) -> None:
    """Replace the content `before` of `path` by `after`, atomically.

    A symbolic link keeps pointing at its target, which is the file that is replaced; mode and, where
    permitted, owner are kept. Raises FileChanged when the file no longer holds `before`, WriteRefused when it
    is read-only or the write fails; the original is whole in every case.
    """
    target = _resolved(path)
    status = _checked(target, before)
    if before == after:
        return
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        _copy_attributes(temporary, status)
        # The window between the check and the rename is kept as short as it can be.
        _checked(target, before)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise WriteRefused(f"not written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    _sync_folder(target.parent)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise FileChanged("cannot be found any more") from error


def _checked(target: Path, before: bytes) -> os.stat_result:
    try:
        status = target.stat()
        content = target.read_bytes()
    except OSError as error:
        raise WriteRefused(f"cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise WriteRefused("not a regular file")
    if content != before:
        raise FileChanged("changed since it was checked; left alone")
    # A rename would succeed on a read-only file; the mode says that the owner does not want that.
    if not status.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise WriteRefused("not written: the file is read-only")
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
