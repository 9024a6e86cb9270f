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

from kinfolk.evaluation import landlock, seccomp

NETWORK = "no network, no signals to or tracing of other processes"
FILES = "files outside a scratch folder cannot be written"


def shut_in(scratch: Path) -> None:
    """Shut this process in, for good, as far as the machine can."""
    os.environ["TMPDIR"] = str(scratch)
    os.chdir(scratch)
    if landlock.is_there():
        landlock.allow_writing_only_in(scratch)
    if seccomp.is_there():
        seccomp.refuse()
    from kinfolk.core.jit import cache_read_only

    cache_read_only()


def enforced() -> list[str]:
    """What this machine enforces, as parts of a sentence."""
    found = [NETWORK] if seccomp.is_there() else []
    return found + ([FILES] if landlock.is_there() else [])


def missing() -> list[str]:
    """What this machine cannot enforce."""
    if sys.platform != "linux":
        return [NETWORK, FILES]
    return [part for part in (NETWORK, FILES) if part not in enforced()]
