"""These tests run torch: `make test-features` collects them, an environment without torch not."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
