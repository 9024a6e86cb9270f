"""The same code without its compiler, as the reference of benchmarks: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def uncompiled(module: str, function: str) -> dict[str, Any]:
    """What `function` of `module`, which returns plain values, finds with kernels left as Python."""
    code = f"import json; from {module} import {function}; print(json.dumps({function}()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
