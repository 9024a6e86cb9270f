"""Attacks by signals: every system call that sends one, at once or later."""

# ruff: noqa: RUF012, these tables are never changed

import contextlib
import ctypes
import fcntl
import os
import pty
import signal
import socket
import struct
import termios

from hostile.base import Attack, do_syscall, in_own_pid_namespace, libc, syscall, wait_a_moment

_TKILL, _TGKILL, _SIGQUEUE, _TGSIGQUEUE, _PIDFD_OPEN, _PIDFD_SIGNAL = 200, 234, 129, 297, 434, 424
_F_SETSIG, _F_SETOWN_EX = 10, 15
_FIOSETOWN, _SIOCSPGRP, _FIOASYNC = 0x8901, 0x8902, 0x5452
_SIGKILL = int(signal.SIGKILL)


def queued_signal(number):
    """Return a `siginfo_t` as `sigqueue` would send it."""
    return ctypes.create_string_buffer(struct.pack("iii", number, 0, -1), 128)


class KillsByKill(Attack):
    """Sends SIGKILL by `kill` to the host, rivals, mates and the user's processes."""

    def attack(self):
        self.attempt_on_pids("kill", lambda pid: os.kill(pid, signal.SIGKILL))


class KillsByTkill(Attack):
    """Sends SIGKILL to threads by `tkill`."""

    def attack(self):
        self.attempt_on_pids("tkill", lambda pid: do_syscall(_TKILL, pid, _SIGKILL))


class KillsByTgkill(Attack):
    """Sends SIGKILL to threads by `tgkill`."""

    def attack(self):
        self.attempt_on_pids("tgkill", lambda pid: do_syscall(_TGKILL, pid, pid, _SIGKILL))


class KillsBySigqueue(Attack):
    """Sends SIGKILL by `rt_sigqueueinfo`."""

    def attack(self):
        info = queued_signal(_SIGKILL)
        self.attempt_on_pids("sigqueue", lambda pid: do_syscall(_SIGQUEUE, pid, _SIGKILL, info))


class KillsByTgsigqueue(Attack):
    """Sends SIGKILL by `rt_tgsigqueueinfo`."""

    def attack(self):
        info = queued_signal(_SIGKILL)
        self.attempt_on_pids(
            "tgsigqueue", lambda pid: do_syscall(_TGSIGQUEUE, pid, pid, _SIGKILL, info)
        )


class KillsByPidfd(Attack):
    """Sends SIGKILL by `pidfd_send_signal`."""

    def attack(self):
        def send(pid):
            syscall(_PIDFD_SIGNAL, syscall(_PIDFD_OPEN, pid, 0), _SIGKILL, None, 0)

        self.attempt_on_pids("pidfd", send)


class KillsGroups(Attack):
    """Sends SIGKILL to process groups, and to all processes by `kill(-1)`."""

    def attack(self):
        self.attempt_on_pids("killpg", lambda pid: os.killpg(pid, signal.SIGKILL))
        if in_own_pid_namespace(self.targets["pid"]):
            self.attempt("kill all", os.kill, -1, signal.SIGKILL)


class KillsFromChildren(Attack):
    """Kills by children, where it may start some: their ids differ from those that a filter allows."""

    limits = {"process_limit": 4}

    def attack(self):
        def kill_by_child(pid):
            child = os.fork()
            if child == 0:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    syscall(_TGKILL, pid, pid, _SIGKILL)
                os._exit(0)
            os.waitpid(child, 0)

        self.attempt_on_pids("child", kill_by_child)


class StopsOthers(Attack):
    """Stops processes by SIGSTOP, so that they time out."""

    def attack(self):
        self.attempt_on_pids("stop", lambda pid: os.kill(pid, signal.SIGSTOP))
        self.attempt_on_pids("stop", lambda pid: do_syscall(_TGKILL, pid, pid, 19))


class KillsByFileOwner(Attack):
    """Makes others the owners of a pipe whose input raises SIGKILL (F_SETOWN, F_SETSIG, O_ASYNC)."""

    def attack(self):
        def arm(pid):
            readable, writable = os.pipe()
            fcntl.fcntl(readable, fcntl.F_SETOWN, pid)
            self.pull(readable, writable)

        def arm_thread(pid):
            readable, writable = os.pipe()
            fcntl.fcntl(readable, _F_SETOWN_EX, struct.pack("ii", 0, pid))
            self.pull(readable, writable)

        def arm_group(pid):
            readable, writable = os.pipe()
            fcntl.fcntl(readable, fcntl.F_SETOWN, -pid)
            self.pull(readable, writable)

        self.attempt_on_pids("F_SETOWN", arm)
        self.attempt_on_pids("F_SETOWN_EX", arm_thread)
        self.attempt_on_pids("F_SETOWN group", arm_group)
        wait_a_moment()

    def pull(self, readable, writable):
        """Let the pipe raise the signal."""
        fcntl.fcntl(readable, _F_SETSIG, _SIGKILL)
        fcntl.fcntl(readable, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(writable, b"!")


class KillsBySocketOwner(Attack):
    """Makes others the owners of a socket by ioctl (FIOSETOWN, SIOCSPGRP), then raises SIGIO."""

    def attack(self):
        for request in (_FIOSETOWN, _SIOCSPGRP):

            def arm(pid, request=request):
                ours, theirs = socket.socketpair()
                fcntl.ioctl(ours, request, struct.pack("i", pid))
                fcntl.fcntl(ours, _F_SETSIG, _SIGKILL)
                fcntl.ioctl(ours, _FIOASYNC, struct.pack("i", 1))
                theirs.send(b"!")

            self.attempt_on_pids(f"ioctl {request:x}", arm)
        wait_a_moment()


class KillsByLease(Attack):
    """Names others as receivers of the signals of leases and of changed folders (F_NOTIFY)."""

    def attack(self):
        def arm(pid):
            folder = os.open(".", os.O_RDONLY)
            fcntl.fcntl(folder, fcntl.F_SETOWN, pid)
            fcntl.fcntl(folder, _F_SETSIG, _SIGKILL)
            fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_CREATE)
            os.close(os.open("attack-notified", os.O_CREAT | os.O_WRONLY))
            os.unlink("attack-notified")

        self.attempt_on_pids("F_NOTIFY", arm)
        wait_a_moment()


class KillsByTimer(Attack):
    """Makes a timer whose signals go to a thread of another process (SIGEV_THREAD_ID)."""

    without_sandbox = "the kernel lets timers signal threads of the same process only"

    def attack(self):
        def arm(pid):
            event = ctypes.create_string_buffer(struct.pack("qiii", 0, _SIGKILL, 4, pid), 64)
            timer = ctypes.c_int()
            syscall(222, 1, event, ctypes.byref(timer))
            syscall(223, timer.value, 0, struct.pack("qqqq", 0, 1, 0, 1), None)

        self.attempt_on_pids("timer", arm)
        wait_a_moment()


class KillsByTerminal(Attack):
    """Makes a terminal of its own whose foreground group are others, and presses Ctrl-C and Ctrl-\\."""

    without_sandbox = "the kernel lets a terminal's foreground group be one of its own session only"

    def attack(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 1)

        def press(pid):
            fcntl.ioctl(slave, termios.TIOCSPGRP, struct.pack("i", pid))
            os.write(master, b"\x03\x1c")

        self.attempt_on_pids("foreground", press)
        wait_a_moment()


class WritesToTheTerminal(Attack):
    """Writes escape codes to the user's terminal and types commands into it (TIOCSTI)."""

    def attack(self):
        def write():
            handle = os.open(self.targets["terminal"], os.O_RDWR | os.O_NOCTTY)
            os.write(handle, b"\x1b[2J$ attack\r")
            return "written"

        def type_in():
            handle = os.open(self.targets["terminal"], os.O_RDWR)
            fcntl.ioctl(handle, termios.TIOCSTI, b"a")
            return "typed"

        self.attempt("write", write)
        self.attempt("type", type_in)
        self.attempt("own terminal", lambda: os.open("/dev/tty", os.O_RDWR))


class SurvivesItsParent(Attack):
    """Clears its parent-death signal, leaves its session, ignores signals and hangs."""

    limits = {"step_timeout": 0.5}
    without_sandbox = "the fork server kills it by SIGKILL, which cannot be ignored"

    def attack(self):
        libc.prctl(1, 0, 0, 0, 0)
        for number in range(1, 65):
            self.attempt(
                "ignore", lambda number=number: signal.signal(number, signal.SIG_IGN) and None
            )
        self.attempt("setsid", lambda: os.setsid() and None)
        self.attempt("setpgid", lambda: os.setpgid(0, 0))
        wait_a_moment(30)
