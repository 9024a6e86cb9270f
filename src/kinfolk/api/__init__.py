"""The functions behind `import kinfolk as kf`, with typed arguments and typed results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.imports import export_lazily

if TYPE_CHECKING:
    from kinfolk.api import stats as stats

export_lazily(__name__)
