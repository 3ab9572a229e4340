"""Writing a file all at once: until the new one is complete, an older file of its name stays as it was."""

import contextlib
import os
import re
import secrets
import stat
import time


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
    folder = os.path.dirname(path)
    _remove_abandoned(folder)
    temporary = os.path.join(folder, f".bayesnb-{secrets.token_hex(8)}.tmp")
    handle, named = _new_file(temporary)
    file = os.fdopen(handle, "wb")
    try:
        file.write(data)
        file.flush()
        os.fsync(handle)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary if named else handle, os.stat(path).st_mode & 0o7777)
        if not named:
            _link(handle, temporary)
        if os.name == "nt":  # which does not rename open files; elsewhere the lock is held to the end
            file.close()
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    file.close()


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


# On Linux a file has no name until it is complete; the system removes it if the process is killed. Elsewhere it has a
# name, and a lock that the system releases if the process is killed. A file that can be locked is therefore abandoned.

_TEMPORARY = re.compile(r"\.bayesnb-[0-9a-f]{16}\.tmp")
_DAY = 86400.0  # seconds after which a file is abandoned where the system has no locks


def _new_file(path: str) -> tuple[int, bool]:
    """Descriptor of a new, locked file, and whether it has the name already or still none."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # a file system without such files; all else shows below
            handle = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o666)
            _lock(handle)
            return handle, False
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if _lock(handle) is not False and os.path.lexists(path):
            return handle, True
        os.close(handle)  # another process found it before it was locked, and removes it
        time.sleep(0.01)


def _link(handle: int, path: str) -> None:
    """Give a file its name."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:  # only with a descriptor of the folder does `os.link` follow the link that /proc shows
        os.link(f"/proc/self/fd/{handle}", os.path.basename(path), dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _lock(handle: int) -> bool | None:
    """Whether this process has the lock of an open file; None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _remove_abandoned(folder: str) -> None:
    """Remove what killed processes left in a folder: this user's files of our pattern; no link is followed."""
    try:
        found = [os.path.join(folder, name) for name in os.listdir(folder) if _TEMPORARY.fullmatch(name)]
    except OSError:  # a folder that can be written to but not listed
        return
    for path in found:
        with contextlib.suppress(OSError):
            at = os.lstat(path)
            if stat.S_ISREG(at.st_mode) and (os.name == "nt" or at.st_uid == os.geteuid()) and _is_abandoned(path, at):
                os.unlink(path)


def _is_abandoned(path: str, at: os.stat_result) -> bool:
    """Whether no process writes to a file: nobody has its lock or, where there are no locks, it is a day old."""
    old = time.time() - at.st_mtime > _DAY
    if os.name == "nt":
        return old
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lock = _lock(handle)
        return old if lock is None else lock
    finally:
        os.close(handle)
