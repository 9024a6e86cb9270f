"""Tests here share `cogs` and the scenes of the world's tests, which importlib mode does not find."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent.parent / "worlds" / "cogsguard")]
