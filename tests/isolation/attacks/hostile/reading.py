"""Attacks by reading: files, rivals' weights, the seed, mates' files and memory, the environment."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import gc
import mmap
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from hostile.base import ATTACK_STEP, Attack, read_file, syscall, wait_a_moment

_NAME_TO_HANDLE, _OPEN_BY_HANDLE = 303, 304


class ReadsSecretFile(Attack):
    """Reads a file of the user's by `open`, through a map, and through handles of folders."""

    def attack(self):
        path = self.targets["secret"]

        def through_map():
            with mmap.mmap(os.open(path, os.O_RDONLY), 0, prot=mmap.PROT_READ) as memory:
                return memory[:].decode()

        def through_handle():
            handle = os.open(path, os.O_PATH)
            return read_file(f"/proc/self/fd/{handle}")

        def through_root():
            root = os.open("/", os.O_RDONLY)
            return os.read(os.open(path[1:], os.O_RDONLY, dir_fd=root), 100).decode()

        self.attempt("open", read_file, path)
        self.attempt("map", through_map)
        self.attempt("handle", through_handle)
        self.attempt("root", through_root)
        self.attempt("dots", read_file, "../" * 20 + path[1:])
        self.attempt("proc", read_file, f"/proc/1/root{path}")
        self.attempt("self", read_file, f"/proc/self/root{path}")


class ReadsThroughSymlinks(Attack):
    """Reads through a symbolic link in its scratch folder, and as a module of its own."""

    def attack(self):
        name = f"symlink-{self.targets['mark']}"

        def follow():
            os.symlink(self.targets["secret"], name)
            try:
                return read_file(name)
            finally:
                os.unlink(name)

        self.attempt("symlink", follow)


class ListsFolders(Attack):
    """Lists folders of the user's, and looks for files by `stat` and `access`."""

    def attack(self):
        folder = self.targets["folder"]
        self.attempt("listdir", os.listdir, folder)
        self.attempt("stat", os.stat, self.targets["secret"])
        self.attempt("access", lambda: os.access(self.targets["secret"], os.R_OK) or None)
        self.attempt("readlink", lambda: os.path.exists(f"{folder}/run/settings.json") or None)
        self.attempt("home", lambda: os.listdir(os.path.expanduser("~")) or None)
        parent = os.path.dirname(folder)  # its own files are there too
        self.attempt("parent", lambda: set(os.listdir(parent)) - {"policies", "cache"} or None)


class ReadsAccounts(Attack):
    """Reads the machine's accounts, keys and configuration."""

    def attack(self):
        for path in ("/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/machine-id", "/etc/resolv.conf",
                     "/var/log/dpkg.log", "/proc/cmdline", "/proc/version", "/proc/net/tcp",
                     "/sys/class/net/lo/address", "/sys/devices/virtual/dmi/id/product_uuid"):  # fmt: skip
            self.attempt(path, lambda path=path: read_file(path)[:20])


class ReadsRivalsFiles(Attack):
    """Reads the rival's source and weights, which lie beside its own."""

    def attack(self):
        weights = self.targets["weights"]
        own = Path(sys.modules["hostile"].__file__).parent
        self.attempt("weights", lambda: read_file(weights)[:400])
        self.attempt("beside", lambda: read_file(str(own.parent / "rival.safetensors"))[:400])
        self.attempt("source", lambda: read_file(str(own.parent / "rival_policy.py"))[:80])
        self.attempt("import", lambda: find_spec("rival_policy"))


class ReadsTheRun(Attack):
    """Reads the folder of the run, whose settings hold the seed."""

    def attack(self):
        self.attempt("settings", read_file, f"{self.targets['run']}/settings.json")


class ReadsItsEnvironment(Attack):
    """Looks for secrets in the environment and the arguments that it inherited."""

    def attack(self):
        name = self.targets["env_name"]
        self.attempt("environ", lambda: os.environ.get(name))
        self.attempt("bytes", lambda: os.environb.get(name.encode()))
        words = [*sys.argv, *sys.orig_argv, *os.environ.values(), os.getcwd()]
        private = self.targets["folder"].rpartition("/")[0] + "/tmp"
        self.attempt("paths", lambda: [word for word in words if private in word] or None)


class SearchesForTheSeed(Attack):
    """Looks for the seed among all objects of its process."""

    without_sandbox = "a worker is sent the keys of its own agents only"

    def attack(self):
        seed = 88_172_645_463_325_252
        found = [
            o for o in gc.get_objects() if isinstance(o, dict) and "seed" in o and o["seed"] == seed
        ]
        self.attempt("objects", lambda: found[:1] or None)
        sys.setrecursionlimit(10**6)


class SearchesForWeights(Attack):
    """Looks for the rival's weights in its own memory, which was forked from a shared process."""

    without_sandbox = "nothing of a rival's is loaded in the process from which workers are forked"

    def attack(self):
        arrays = [
            o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.dtype == np.float32
        ]
        codes = np.frombuffer(b"SECRET", np.uint8).astype(np.float32)

        def search():
            for array in arrays:
                flat = array.ravel()
                if len(flat) > 14 and (flat[8:14] == codes).all():
                    return bytes(flat[8:].astype(np.uint8)).decode()
            return None

        self.attempt("arrays", search)


class ReadsMatesFiles(Attack):
    """Reads what its mate has written in its scratch folder."""

    def mate_step(self):
        if self.n_steps == 1:
            for folder in {tempfile.gettempdir(), os.getcwd()}:
                (Path(folder) / f"mate-{self.targets['mark']}").write_text("what a mate knows")

    def attack(self):
        wait_a_moment(0.05)
        for start in (tempfile.gettempdir(), os.getcwd(), "/tmp", "/dev/shm", "/scratch", ".."):
            for folder in (start, os.path.dirname(os.path.abspath(start))):
                self.attempt(folder, self.search, folder)

    def search(self, folder):
        """Return what a file of the mate's holds, if there is one in the folder or those in it."""
        names = [os.path.join(folder, name) for name in os.listdir(folder)]
        names += [
            os.path.join(n, i) for n in names[:50] if os.path.isdir(n) for i in list_quietly(n)
        ]
        found = [name for name in names if "mate-" in name]
        return [read_file(name) for name in found] or None


def list_quietly(folder):
    """Return the names in a folder; none if it may not be read."""
    try:
        return os.listdir(folder)[:100]
    except OSError:
        return []


class OverwritesMatesFiles(Attack):
    """Removes and replaces its mate's scratch files; the mate notices and complains."""

    def mate_step(self):
        self.path = Path(tempfile.gettempdir()) / f"mate-{self.targets['mark']}"
        if self.n_steps == 1:
            self.path.write_text("mine")
        elif self.path.read_text() != "mine":
            raise ValueError("somebody has changed my file")

    def step(self):
        if self.n_steps == ATTACK_STEP:
            for folder in (tempfile.gettempdir(), ".", "..", "/tmp"):
                for root, _, names in os.walk(folder):
                    for name in names:
                        if "mate-" in name and self.targets["mark"] in name:
                            Path(root, name).write_text("changed")
                    if root.count("/") > 8:
                        break


class OpensByHandle(Attack):
    """Opens a file by the kernel's handle of it, which needs no path (`open_by_handle_at`)."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        def open_it():
            handle = ctypes.create_string_buffer(b"\x80\0\0\0", 136)
            mount = ctypes.c_int()
            path = self.targets["secret"].encode()
            syscall(_NAME_TO_HANDLE, -100, path, handle, ctypes.byref(mount), 0)
            root = os.open("/", os.O_RDONLY)
            return os.read(syscall(_OPEN_BY_HANDLE, root, handle, os.O_RDONLY), 100).decode()

        self.attempt("handle", open_it)


class ReadsDevices(Attack):
    """Reads disks, memory and the kernel's log as devices, and makes devices of its own."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        for path in ("/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/port"):
            self.attempt(path, lambda path=path: os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        name = f"device-{self.targets['mark']}"

        def make():
            os.mknod(name, 0o600 | 0o060000, os.makedev(254, 0))
            try:
                return f"disk {os.read(os.open(name, os.O_RDONLY), 16).hex()}"
            finally:
                os.unlink(name)

        self.attempt("mknod", make)
