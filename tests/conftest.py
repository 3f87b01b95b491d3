"""What all tests share: the path of their helpers, and how hard Hypothesis tries.

``ci`` (default) draws the same modest number of examples every time; ``HYPOTHESIS_PROFILE=deep``
draws thousands of new ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

slow_is_fine = [HealthCheck.too_slow]
settings.register_profile(
    "ci",
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=slow_is_fine,
)
settings.register_profile(
    "deep", max_examples=3000, deadline=None, suppress_health_check=slow_is_fine
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
