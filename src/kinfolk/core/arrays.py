"""Type aliases of the arrays that cross module boundaries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
AnyArray: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, AnyArray]


def is_tensor(value: object) -> bool:
    """Return whether a value is a torch tensor, without importing torch.

    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
