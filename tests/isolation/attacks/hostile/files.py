"""Attacks on files outside the scratch folder, by every system call that changes one."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import fcntl
import mmap
import os
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path

from hostile.base import Attack, do_syscall, libc, syscall

_FCHMODAT2, _OPENAT2, _SETXATTRAT, _RENAMEAT2, _LINKAT = 452, 437, 463, 316, 265
_AT_FDCWD = -100
_SET_FLAGS = 0x40086602


class FileAttack(Attack):
    """Gives short names to the files under attack."""

    def __init__(self, spec, targets=None):
        super().__init__(spec, targets)
        self.precious, self.folder = self.targets["precious"], self.targets["folder"]

    def inside(self, name):
        """Return a path in the folder of the canaries."""
        return os.path.join(self.folder, name)


class WritesFiles(FileAttack):
    """Opens files for writing: to overwrite, to append, to truncate, both at once."""

    def attack(self):
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC,
                      os.O_RDONLY | os.O_TRUNC):  # fmt: skip
            self.attempt(
                f"open {flags:o}",
                lambda flags=flags: os.write(os.open(self.precious, flags), b"x") and None,
            )
        self.attempt(
            "create", lambda: os.close(os.open(self.inside("new"), os.O_CREAT | os.O_WRONLY))
        )


class OpensByOpenat2(FileAttack):
    """Writes by `openat2`, relative to handles of folders above."""

    def attack(self):
        how = ctypes.create_string_buffer(
            struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o600, 0), 24
        )

        def create(base, path):
            os.close(syscall(_OPENAT2, base, path.encode(), how, 24))

        self.attempt("path", create, _AT_FDCWD, self.inside("by-openat2"))
        self.attempt("root", lambda: create(os.open("/", os.O_PATH), self.inside("by-root")[1:]))
        self.attempt("dots", create, _AT_FDCWD, "../" * 20 + self.inside("by-dots")[1:])


class Truncates(FileAttack):
    """Cuts files by `truncate`."""

    def attack(self):
        self.attempt("truncate", os.truncate, self.precious, 2)
        self.attempt("ftruncate", lambda: os.ftruncate(os.open(self.precious, os.O_RDWR), 1))


class Removes(FileAttack):
    """Removes files and folders."""

    def attack(self):
        self.attempt("unlink", os.unlink, self.precious)
        self.attempt("rmdir", shutil.rmtree, self.inside("run"))


class Renames(FileAttack):
    """Renames files and folders, and exchanges them."""

    def attack(self):
        self.attempt("rename", os.rename, self.precious, self.inside("renamed"))
        self.attempt("folder", os.rename, self.inside("run"), self.inside("run2"))
        here = os.path.abspath("own")
        self.attempt("own", lambda: os.close(os.open(here, os.O_CREAT | os.O_WRONLY)))
        self.attempt("out", os.rename, here, self.inside("own"))
        names = self.inside("renamed").encode(), self.targets["secret"].encode()
        self.attempt(
            "exchange", do_syscall, _RENAMEAT2, _AT_FDCWD, names[0], _AT_FDCWD, names[1], 2
        )


class Links(FileAttack):
    """Makes hard and symbolic links among the user's files."""

    def attack(self):
        self.attempt("link", os.link, self.precious, self.inside("linked"))
        self.attempt("symlink", os.symlink, self.precious, self.inside("symlinked"))
        self.attempt("link here", os.link, self.targets["secret"], f"link-{self.targets['mark']}")


class MakesFolders(FileAttack):
    """Makes folders, pipes, sockets and devices among the user's files."""

    def attack(self):
        self.attempt("mkdir", os.mkdir, self.inside("made"))
        self.attempt("fifo", os.mkfifo, self.inside("fifo"))
        self.attempt("socket", os.mknod, self.inside("socket"), 0o600 | stat.S_IFSOCK)
        self.attempt(
            "device", os.mknod, self.inside("device"), 0o600 | stat.S_IFCHR, os.makedev(1, 3)
        )


class ChangesModes(FileAttack):
    """Changes permissions by all calls, the newest too."""

    def attack(self):
        self.attempt("chmod", os.chmod, self.precious, 0o777)
        self.attempt(
            "fchmodat2", do_syscall, _FCHMODAT2, _AT_FDCWD, self.inside("run").encode(), 0o777, 0
        )
        self.attempt(
            "fchmod", lambda: os.fchmod(os.open(self.targets["secret"], os.O_RDONLY), 0o666)
        )


class ChangesOwners(FileAttack):
    """Gives files to another user or group."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        self.attempt("chown", os.chown, self.precious, 61235, 61235)
        self.attempt("lchown", os.lchown, self.targets["secret"], 61235, -1)


class ChangesTimes(FileAttack):
    """Changes the times of files."""

    def attack(self):
        self.attempt("utime", os.utime, self.precious, (1, 1))
        self.attempt(
            "utimensat", lambda: libc.utimes(self.targets["secret"].encode(), None) > 1 or None
        )
        self.attempt("futimens", lambda: os.utime(os.open(self.inside("run"), os.O_RDONLY), (1, 1)))


class ChangesAttributes(FileAttack):
    """Sets extended attributes, by the newest call too."""

    def attack(self):
        self.attempt("setxattr", os.setxattr, self.precious, "user.attack", b"x")
        value = ctypes.create_string_buffer(b"x")
        how = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(value), 1, 0), 16)
        path = self.targets["secret"].encode()
        self.attempt(
            "setxattrat", do_syscall, _SETXATTRAT, _AT_FDCWD, path, 0, b"user.attack", how, 16
        )


class SetsFlags(FileAttack):
    """Makes a file immutable by ioctl, so that its owner cannot remove it."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def set_flags():
            handle = os.open(self.precious, os.O_RDONLY)
            fcntl.ioctl(handle, _SET_FLAGS, struct.pack("q", 0x30))

        self.attempt("flags", set_flags)


class LinksUnnamedFiles(FileAttack):
    """Makes a file without a name among the user's files, and names it (O_TMPFILE, linkat)."""

    def attack(self):
        def make():
            handle = os.open(self.folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
            os.write(handle, b"planted")
            source = f"/proc/self/fd/{handle}".encode()
            do_syscall(
                _LINKAT, _AT_FDCWD, source, _AT_FDCWD, self.inside("planted").encode(), 0x400
            )

        self.attempt("tmpfile", make)


class CopiesIntoFiles(FileAttack):
    """Writes by `copy_file_range`, `sendfile` and `splice`."""

    def attack(self):
        def copy(function):
            source = os.open(sys.modules["hostile.base"].__file__, os.O_RDONLY)
            target = os.open(self.precious, os.O_WRONLY)
            function(source, target)

        self.attempt("copy_file_range", copy, lambda s, t: os.copy_file_range(s, t, 50))
        self.attempt("sendfile", copy, lambda s, t: os.sendfile(t, s, 0, 60))


class WritesByMap(FileAttack):
    """Writes to a file through a shared map, and reopens a handle opened for reading."""

    def attack(self):
        def through_map(flags):
            handle = os.open(self.precious, flags)
            with mmap.mmap(handle, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
                memory[:4] = b"hack"

        def reopen():
            handle = os.open(self.precious, os.O_RDONLY)
            os.write(os.open(f"/proc/self/fd/{handle}", os.O_WRONLY), b"reopened")

        self.attempt("read-only", through_map, os.O_RDONLY)
        self.attempt("map", through_map, os.O_RDWR)
        self.attempt("reopen", reopen)


class LocksFiles(FileAttack):
    """Takes locks and leases of the user's files, and watches them."""

    def attack(self):
        def lock():
            handle = os.open(self.precious, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            return "locked"

        def watch():
            watcher = syscall(294, 0)
            return f"watch {syscall(254, watcher, self.folder.encode(), 0xFFF)}"

        self.attempt("lock", lock)
        self.attempt("inotify", watch)


class PlantsCode(FileAttack):
    """Plants code where the host or rivals would run it: site-packages, kinfolk, kernel cache."""

    def attack(self):
        for folder in self.targets["code_folders"]:
            for name in ("attack.pth", "sitecustomize.py", "attack.nbi"):
                path = os.path.join(folder, f"{self.targets['mark']}-{name}")
                self.attempt(path[-60:], lambda path=path: os.open(path, os.O_CREAT | os.O_WRONLY))


class RunsPrograms(FileAttack):
    """Starts a shell and another interpreter that write a file."""

    def attack(self):
        path = self.inside("by-program")
        code = f"open({path + '2'!r}, 'w')"
        programs = (["/bin/sh", "-c", f"echo x > {path}"], [sys.executable, "-c", code])
        for program in programs:
            self.attempt(
                program[0], lambda program=program: subprocess.run(program, timeout=10) and None
            )


class RunsAllowedPrograms(RunsPrograms):
    """Starts programs where it may start some, which write a file and kill others."""

    limits = {"process_limit": 4}

    def attack(self):
        super().attack()
        pids = " ".join(map(str, self.pids()))
        program = ["/bin/sh", "-c", f"for pid in {pids}; do kill -9 $pid; done"]
        self.attempt("kill", lambda: subprocess.run(program, timeout=10, stderr=-3) and None)


class BecomesAnotherProgram(FileAttack):
    """Replaces itself by another interpreter, which may have escaped, and writes a file."""

    def attack(self):
        os.execv(sys.executable, [sys.executable, "-c", f"open({self.inside('by-exec')!r}, 'w')"])


class RunsSetuidPrograms(FileAttack):
    """Runs programs of root's to gain privileges."""

    without_sandbox = "an outer view without new privileges; root has them already"

    def attack(self):
        def run():
            process = subprocess.Popen(["/usr/bin/su", "-c", "id"], stdin=subprocess.PIPE)
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            process.kill()
            process.wait()
            [uids] = [line.split()[1:] for line in lines if line.startswith("Uid")]
            return "privileged" if uids[0] != uids[1] else None

        self.attempt("su", run)
