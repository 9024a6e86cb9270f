"""Attacks on the host through what policies share with it: answers, counters, sizes, descriptors."""

# ruff: noqa: RUF012, these tables are never changed

import fcntl
import gc
import mmap
import os
import socket
import stat
import threading
import time

from hostile.base import ATTACK_STEP, ATTACKER_UID, Attack, open_fds, wait_a_moment

HOST_CHECKS = "the host believes nothing that it has not checked"
_GARBAGE = (-1, 0, 1, 2, 3, 2**62, 2**63 - 1, -(2**63))


def find_buffer():
    """Return the buffer that this process shares with the host."""
    for item in gc.get_objects():
        if type(item).__name__ == "SharedBuffer":
            return item
    raise RuntimeError("no shared buffer was found")


class ProtocolAttack(Attack):
    """Writes to the memory that it shares with the host."""

    without_sandbox = HOST_CHECKS

    def step(self):
        if self.n_steps >= ATTACK_STEP:
            self.forge(find_buffer())

    def forge(self, buffer):
        raise NotImplementedError


class ForgesStatus(ProtocolAttack):
    """Answers with statuses that do not exist, before the host's loop does."""

    def forge(self, buffer):
        buffer.header[4] = _GARBAGE[self.n_steps % len(_GARBAGE)]
        buffer.header[3] = buffer.header[0]
        wait_a_moment(0.02)


class ForgesEveryField(ProtocolAttack):
    """Writes garbage to every field of the header, at every step."""

    def forge(self, buffer):
        for field in range(1, len(buffer.header)):
            if field != 3:
                buffer.header[field] = _GARBAGE[(field + self.n_steps) % len(_GARBAGE)]
        wait_a_moment(0.01)


class ForgesAllTheTime(ProtocolAttack):
    """Writes garbage everywhere from a thread, from its second step on."""

    limits = {"step_timeout": 1.0}

    def step(self):
        if self.n_steps == 2:
            threading.Thread(target=self.scribble, args=(find_buffer(),), daemon=True).start()

    def scribble(self, buffer):
        """Write garbage until the process ends."""
        number = 0
        while True:
            number += 1
            for field in range(len(buffer.header)):
                buffer.header[field] = _GARBAGE[(field * 7 + number) % len(_GARBAGE)]
            buffer.actions[:] = _GARBAGE[number % len(_GARBAGE)]
            buffer.rows[:] = -number
            time.sleep(0)


class ChangesCheckedActions(ProtocolAttack):
    """Changes its actions between the host's check and their use, again and again."""

    def step(self):
        if self.n_steps == ATTACK_STEP:
            threading.Thread(target=self.flip, args=(find_buffer(),), daemon=True).start()

    def flip(self, buffer):
        """Alternate between a valid action and one far out of range."""
        noop = buffer.actions.copy()
        while True:
            buffer.actions[:] = 2**62
            buffer.actions[:] = -(2**40)
            buffer.actions[:] = noop


class AnswersEarly(ProtocolAttack):
    """Answers requests before they are made, and old ones again."""

    def step(self):
        if self.n_steps == ATTACK_STEP:
            threading.Thread(target=self.answer, args=(find_buffer(),), daemon=True).start()

    def answer(self, buffer):
        """Count through answers from the current one."""
        number = buffer.header[0]
        while True:
            number = (number + 1) % 2**62
            buffer.header[3] = number
            time.sleep(0)

    limits = {"step_timeout": 1.0}


class ForgesSizes(ProtocolAttack):
    """Says that its memory is huge or negative when it is built and later."""

    whole_slot = True

    def __init__(self, spec, targets=None):
        super().__init__(spec, targets)
        buffer = find_buffer()

        def keep_forging():
            for i in range(400):
                buffer.header[5] = (2**40, -5, 2**63 - 1, 2**31)[i % 4]
                time.sleep(0.001)

        threading.Thread(target=keep_forging, daemon=True).start()

    def forge(self, buffer):
        buffer.header[5] = 2**50
        buffer.header[2] = -3


class ForgesCounters(ProtocolAttack):
    """Says that it has printed nothing or a lot, uses no or much memory, and was quick."""

    without_sandbox = "the host measures these itself"

    def step(self):
        buffer = find_buffer()
        buffer.header[6] = -(10**15)
        buffer.header[7] = 10**15
        buffer.header[8] = 1
        print("x" * 5000)  # noqa: T201


class ForgesErrors(ProtocolAttack):
    """Fills the whole text field with bytes that are no text, and says that it raised."""

    def step(self):
        if self.n_steps == ATTACK_STEP:
            buffer = find_buffer()
            text = buffer._text
            text[:] = b"\xff\x1b\x9b\n" * (len(text) // 4)
            buffer.header[4] = 2
            buffer.header[3] = buffer.header[0]
            time.sleep(1)


class FloodsThePipes(ProtocolAttack):
    """Writes to all its descriptors until they are full."""

    def step(self):
        if self.n_steps != ATTACK_STEP:
            return
        for fd in open_fds():
            mode = os.fstat(fd).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                self.attempt(f"fd {fd}", self.flood, fd)

    def flood(self, fd):
        """Write until the descriptor is full, in lines that look like reports of the fork server."""
        os.set_blocking(fd, False)
        line = b'{"exited": %d, "code": 0}\n{"forked": 1}\n{"ready": 1}\n' % os.getppid()
        for _ in range(3000):
            os.write(fd, line * 20)


class SendsDescriptors(ProtocolAttack):
    """Sends hundreds of descriptors through its sockets, so that the host has none left."""

    def step(self):
        if self.n_steps != ATTACK_STEP:
            return
        for fd in open_fds():
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                self.attempt(f"fd {fd}", self.send, fd)

    def send(self, fd):
        """Send the null device again and again."""
        with socket.socket(fileno=os.dup(fd)) as connection:
            connection.setblocking(False)
            null = os.open(os.devnull, os.O_RDONLY)
            for _ in range(100):
                socket.send_fds(connection, [b"{}\n"], [null] * 200)


class WritesThePayload(Attack):
    """Writes to memory from which mates that are forked later load their class and weights."""

    without_sandbox = "it is sealed"

    def attack(self):
        for fd in open_fds():
            if stat.S_ISREG(os.fstat(fd).st_mode) and fd > 2:
                self.attempt(f"fd {fd}", self.overwrite, fd)

    def overwrite(self, fd):
        """Overwrite the descriptor's memory if it names the policy's class."""
        size = os.fstat(fd).st_size
        content = os.pread(fd, size, 0)
        if b"class_path" not in content:
            return None
        try:
            with mmap.mmap(fd, size) as memory:
                memory[:] = content
        except OSError:
            os.pwrite(fd, content, 0)
        return "payload written"


class TruncatesSharedMemory(Attack):
    """Cuts or grows the memory that it shares, so that the host is killed by SIGBUS."""

    without_sandbox = "its size is sealed"

    def attack(self):
        for fd in open_fds():
            if stat.S_ISREG(os.fstat(fd).st_mode) and fd > 2:
                for size in (0, 10**12):
                    self.attempt(
                        f"fd {fd} {size}", lambda fd=fd, size=size: os.ftruncate(fd, size) or "cut"
                    )
                self.attempt(
                    f"punch {fd}", lambda fd=fd: os.posix_fallocate(fd, 0, 10**12) or "grown"
                )
                self.attempt(f"seals {fd}", lambda fd=fd: fcntl.fcntl(fd, 1033, 0xF) or None)


class ReadsDescriptors(Attack):
    """Reads all descriptors that it inherited, looking for secrets of the host or of rivals."""

    def attack(self):
        for fd in open_fds():
            if fd > 2 and not stat.S_ISSOCK(os.fstat(fd).st_mode):
                self.attempt(f"fd {fd}", self.read, fd)

    def read(self, fd):
        """Return a secret that the descriptor shows, or how many agents' buffers it is one of."""
        os.set_blocking(fd, False)
        try:
            content = os.pread(fd, 2**22, 0)
        except OSError:
            content = os.read(fd, 65536)
        start = content.find(b"SECRET")
        return content[start : start + 60].decode("latin-1") if start >= 0 else None

    without_sandbox = "workers inherit their own descriptors only"


class SpeaksToTheForkServer(Attack):
    """Sends orders to the fork server through every socket it has: kill, fork, preload, exit."""

    without_sandbox = "a worker has no socket to the fork server"

    def attack(self):
        orders = [
            b'{"kill": %d}\n' % pid for pid in (os.getppid(), os.getpid() + 1, os.getpid() - 1)
        ]
        orders += [b'{"preload": 99}\n', b"{}\n", b"[1]\n", b"\xff\n", b"x" * 70000 + b"\n"]
        for fd in open_fds():
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                for order in orders:
                    self.attempt(
                        f"fd {fd}", lambda fd=fd, order=order: os.write(fd, order) and None
                    )
        wait_a_moment()


class LiesAboutItsMemory(Attack):
    """Declares memory of impossible shapes and types, another at each call."""

    whole_slot = True
    without_sandbox = HOST_CHECKS
    n_calls = 0

    def step(self):
        pass

    @property
    def memory_layout(self):
        from kinfolk.policies.base import MemoryField

        type(self).n_calls += 1
        shapes = (
            ((10**11,), "float64"),
            ((-3,), "int64"),
            ((2,), "O"),
            ((), "V0"),
            ((1,), "no type"),
        )
        shape, dtype = shapes[(self.n_calls + os.getpid()) % len(shapes)]
        return {"\x1b[31m": MemoryField(shape, dtype)}


class ForgesInheritedMemory(Attack):
    """Gives its children memory that is no memory: garbage of the right and the wrong size."""

    without_sandbox = HOST_CHECKS

    @property
    def memory_layout(self):
        from kinfolk.policies.base import MemoryField

        return {"x": MemoryField((64,), "float64")}

    def step(self):
        if self.uid == ATTACKER_UID:
            for item in gc.get_objects():
                memory = getattr(item, "_parent_memory", None)
                if type(item).__name__ == "_WorkerLoop" and memory is not None:
                    memory[:] = 255
