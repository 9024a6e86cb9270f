"""A policy and a world's spec, serialized once into memory that all workers of the policy read."""

from __future__ import annotations

import json
import mmap
import os
import sys

import numpy as np
from safetensors.numpy import load, save

from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import get_trust
from kinfolk.isolation.shared_buffers import create_sealed_memory
from kinfolk.policies.build import ResolvedPolicy


class WorkerPayload:
    """A policy and a world's spec in memory that nobody can change.

    Args:
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.

    Attributes:
        start_timed_out: Whether a worker did not build the policy in time. It would not the next time
            either, because nothing of an episode is known to it then.
        first_call_timed_out: Whether a worker did not return from its first reset or step in time.
    """

    def __init__(self, resolved: ResolvedPolicy, spec: WorldSpec) -> None:
        header = {
            "class_path": resolved.class_path,
            "settings": dict(resolved.settings),
            "source_file": None if get_trust().are_files_trusted else resolved.source_file,
            "spec": spec.to_dict(),
        }
        arrays = {name: np.ascontiguousarray(array) for name, array in resolved.arrays.items()}
        data = json.dumps(header).encode()
        data = len(data).to_bytes(8, "little") + data + save(arrays)
        self.resolved, self.spec, self.size = resolved, spec, len(data)
        self.fd = create_sealed_memory(data)
        self.start_timed_out = self.first_call_timed_out = False

    def close(self) -> None:
        """Close the file descriptor of the memory; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def read_payload(fd: int, size: int) -> tuple[ResolvedPolicy, WorldSpec]:
    """Return the policy and the world's spec of a `WorkerPayload`.

    Args:
        fd: Descriptor of the payload's memory.
        size: Size of the payload in bytes.
    """
    with mmap.mmap(fd, size, access=mmap.ACCESS_READ) as memory:
        data = memory[:]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    arrays = load(data[8 + length :])
    resolved = ResolvedPolicy(
        header["class_path"], header["settings"], arrays, source_file=header["source_file"]
    )
    return resolved, WorldSpec.from_dict(header["spec"])


def get_import_paths() -> list[str]:
    """Return `sys.path` of this process with absolute folders, for workers that are trusted."""
    return [path or os.getcwd() for path in sys.path]
