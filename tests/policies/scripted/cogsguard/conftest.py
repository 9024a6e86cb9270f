"""Make `cogs_harness` and the scenes of the world's tests importable, which importlib mode does not."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent.parent / "worlds" / "cogsguard")]
