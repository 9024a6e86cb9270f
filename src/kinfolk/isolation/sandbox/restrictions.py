"""The sandbox of untrusted policies: restrictions that the kernel enforces.

Files outside a temporary folder cannot be written (Landlock); network, tracing of other processes and
signals to them are denied (seccomp); privileges cannot be gained. `list_unsupported` names what this
machine cannot enforce, so that users are warned before anything starts.

Reading is not restricted: a policy can read the user's files, but has no network to send them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kinfolk.isolation.sandbox import landlock, seccomp

NETWORK_RESTRICTION = "no network, no signals to or tracing of other processes"
FILE_RESTRICTION = "files outside a scratch folder cannot be written"


def enter_sandbox(writable_folder: Path) -> None:
    """Restrict this process permanently, as far as the machine supports it."""
    os.environ["TMPDIR"] = str(writable_folder)
    os.chdir(writable_folder)
    if landlock.is_supported():
        landlock.restrict_writes_to(writable_folder)
    if seccomp.is_supported():
        seccomp.install_filter()
    from kinfolk.core.kernel_cache import cache_read_only

    cache_read_only()


def list_enforced() -> list[str]:
    """Return descriptions of the restrictions that this machine enforces."""
    supported = {NETWORK_RESTRICTION: seccomp, FILE_RESTRICTION: landlock}
    return [text for text, module in supported.items() if module.is_supported()]


def list_unsupported() -> list[str]:
    """Return descriptions of the restrictions that this machine cannot enforce."""
    if sys.platform != "linux":
        return [NETWORK_RESTRICTION, FILE_RESTRICTION]
    return [text for text in (NETWORK_RESTRICTION, FILE_RESTRICTION) if text not in list_enforced()]
