"""A policy of a stranger, shut in: what the kernel can be asked to refuse.

Files outside a scratch folder cannot be written (Landlock); there is no network, no tracing of other
processes and no signal to them (a seccomp filter); no privilege can be gained. What this machine
cannot enforce is named by `missing`, to be said before anything starts.

Not covered: reading. A policy can read whatever the user can, and has nobody to tell it to.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kinfolk.isolation.sandbox import landlock, seccomp

NETWORK_RESTRICTION = "no network, no signals to or tracing of other processes"
FILE_RESTRICTION = "files outside a scratch folder cannot be written"


def enter_sandbox(writable_folder: Path) -> None:
    """Shut this process in, for good, as far as the machine can."""
    os.environ["TMPDIR"] = str(writable_folder)
    os.chdir(writable_folder)
    if landlock.is_supported():
        landlock.restrict_writes_to(writable_folder)
    if seccomp.is_supported():
        seccomp.install_filter()
    from kinfolk.core.kernel_cache import cache_read_only

    cache_read_only()


def list_enforced() -> list[str]:
    """What this machine enforces, as parts of a sentence."""
    found = [NETWORK_RESTRICTION] if seccomp.is_supported() else []
    return found + ([FILE_RESTRICTION] if landlock.is_supported() else [])


def list_unsupported() -> list[str]:
    """What this machine cannot enforce."""
    if sys.platform != "linux":
        return [NETWORK_RESTRICTION, FILE_RESTRICTION]
    return [part for part in (NETWORK_RESTRICTION, FILE_RESTRICTION) if part not in list_enforced()]
