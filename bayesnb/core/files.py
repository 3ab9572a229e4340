"""Writing a file all at once: until the new one is complete, an older file of its name stays as it was."""

import contextlib
import os
import re
import stat
import tempfile


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise the error that `replace_file` would raise for a path, as far as it can be known before the work is done."""
    path = os.fsdecode(path)
    if _descriptor(path) is not None:
        return
    kind, folder = _kind(path), os.path.dirname(os.path.realpath(path))
    if kind == "directory":
        raise IsADirectoryError(f"{path} is a directory; name a file in it")
    if kind in ("disk", "socket"):
        raise ValueError(f"{path} is a {kind}, which is not written to; name a file")
    if kind == "nothing" and not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} to write to; check the path")


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file all at once: the old one stays until the new one is complete and on the disk.

    Its permissions are those of the file it replaces, or those of any new file. Pipes, terminals and devices such as
    /dev/null are written to and stay what they are.

    Raises
    ------
    OSError
        if the path is a directory or in a folder that does not exist, or the system refuses
    ValueError
        if the path is a disk or a socket, or a pipe that is closed before all is written
    """
    path = os.fsdecode(path)
    check_target(path)
    if _descriptor(path) is not None or _kind(path) == "stream":
        _write_stream(path, data)
        return
    path = os.path.realpath(path)
    with tempfile.TemporaryDirectory(prefix=".bayesnb-", dir=os.path.dirname(path)) as folder:  # on the same disk
        new = os.path.join(folder, "new")
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(new, os.stat(path).st_mode & 0o7777)
        os.replace(new, path)


def _kind(path: str) -> str:
    """What is at a path: "nothing", "file", "directory", "disk", "socket", or "stream" (pipe, terminal, /dev/null)."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "nothing"
    kinds = {"file": stat.S_ISREG, "directory": stat.S_ISDIR, "disk": stat.S_ISBLK, "socket": stat.S_ISSOCK}
    return next((kind for kind, holds in kinds.items() if holds(mode)), "stream")


def _descriptor(path: str) -> int | None:
    """The number of the open file that /dev/stdout, /dev/stderr or /dev/fd/N stands for."""
    path = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(os.path.abspath(path), os.path.abspath(path))
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", path) if os.name == "posix" else None
    return int(found[1]) if found else None


def _write_stream(path: str, data: bytes) -> None:
    """Write to what can be written to but not replaced; an open file goes on from where it is."""
    number = _descriptor(path)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY) if number is None else os.dup(number), "wb") as file:
            file.write(data)
    except BrokenPipeError as error:
        raise ValueError(f"{path} was closed before everything was written; check the program that reads it") from error
    except OSError as error:
        raise OSError(f"{path} cannot be written to ({error.strerror}); name a file") from error
