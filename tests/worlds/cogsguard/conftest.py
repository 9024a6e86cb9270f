"""Tests here share `cogs_scenes`, which pytest's importlib mode would not find by itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
