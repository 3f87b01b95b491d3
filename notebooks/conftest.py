"""Stored notebooks hold the simulated run, so nbval's kernels get that setting, whoever calls."""

import os
from pathlib import Path

ipython = Path(__file__).resolve().parent.parent / "_build" / "ipython"
ipython.mkdir(parents=True, exist_ok=True)

os.environ["SISCM_DATA"] = "simulated"
os.environ["IPYTHONDIR"] = str(ipython)  # no start-up files of the user's own
os.environ.pop("MPLBACKEND", None)  # figures belong into the outputs, whatever the caller prefers
