"""Attacks through the network, of the machine and beyond."""

# ruff: noqa: RUF012, these tables are never changed

import ctypes
import os
import socket
import struct

from hostile.base import Attack, syscall


def _connect(family, address, kind=socket.SOCK_STREAM):
    """Connect, say something and return what shows it."""
    with socket.socket(family, kind) as connection:
        connection.settimeout(1.0)
        connection.connect(address)
        connection.send(b"attack")
        return "connected"


class ConnectsByTcp(Attack):
    """Connects to a service of the machine by TCP, on IPv4 and IPv6."""

    def attack(self):
        self.attempt("IPv4", _connect, socket.AF_INET, ("127.0.0.1", self.targets["port"]))
        self.attempt("IPv6", _connect, socket.AF_INET6, ("::1", self.targets["port6"]))


class SendsByUdp(Attack):
    """Sends a datagram to a service of the machine."""

    def attack(self):
        address = ("127.0.0.1", self.targets["udp_port"])
        self.attempt("UDP", _connect, socket.AF_INET, address, socket.SOCK_DGRAM)


class ConnectsToAbstractSockets(Attack):
    """Connects to an abstract Unix socket, which no file permission protects."""

    def attack(self):
        self.attempt("abstract", _connect, socket.AF_UNIX, f"\0{self.targets['abstract']}")


class ConnectsToUnixSockets(Attack):
    """Connects to a Unix socket of the user's by its path."""

    def attack(self):
        self.attempt("path", _connect, socket.AF_UNIX, self.targets["unix"])
        self.attempt("datagram", _connect, socket.AF_UNIX, self.targets["unix"], socket.SOCK_DGRAM)


class ListsInterfaces(Attack):
    """Lists the machine's network interfaces by netlink and by ioctl."""

    def attack(self):
        def dump():
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
                link.settimeout(1.0)
                link.send(struct.pack("IHHIIB3x", 20, 18, 0x301, 1, 0, 0))
                return f"{len(link.recv(65536))} bytes"

        self.attempt("netlink", dump)
        self.attempt("names", lambda: [name for _, name in socket.if_nameindex()])


class OpensRawSockets(Attack):
    """Opens raw and packet sockets, which see the traffic of others."""

    without_sandbox = {"user": "an ordinary user may not"}

    def attack(self):
        kinds = ((socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_INET, socket.SOCK_RAW, 1))
        for kind in kinds:
            self.attempt(str(kind[0]), lambda kind=kind: socket.socket(*kind).fileno())


class OpensRareSockets(Attack):
    """Opens sockets of rarely used families, whose kernel code few have looked at."""

    def attack(self):
        for family in range(1, 46):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):

                def make(family=family, kind=kind):
                    socket.socket(family, kind).close()
                    return "made"

                if family != socket.AF_UNIX:
                    self.attempt(f"{family}/{kind}", make)


class Listens(Attack):
    """Listens on a port, so that others could talk to it or be deceived."""

    def attack(self):
        def listen():
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
                server.bind(("0.0.0.0", 0))
                server.listen()
                return f"port {server.getsockname()[1]}"

        self.attempt("listen", listen)


class ReusesInheritedSockets(Attack):
    """Connects the sockets that it was given elsewhere."""

    without_sandbox = "its socket is connected already"

    def attack(self):
        for fd in range(3, 64):
            address = struct.pack("=H", socket.AF_UNIX) + b"\0" + self.targets["abstract"].encode()
            buffer = ctypes.create_string_buffer(address, len(address))

            def use(fd=fd, buffer=buffer):
                os.fstat(fd)
                syscall(42, fd, buffer, len(buffer))
                return "connected"

            self.attempt(f"fd {fd}", use)
