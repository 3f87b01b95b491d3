"""What a processor without the newest instructions would compute, on one that has them.

Sums and logarithms come out otherwise in their last digits there, for libraries choose other code.
Run as a script, this file prints the variables, as `make same` takes them.
"""

from __future__ import annotations

import numpy as np


def older_processor() -> dict[str, str]:
    """Variables that keep what a newer processor offers from NumPy, OpenBLAS and the C library.

    OpenBLAS and the C library know these names on x86-64 only, and pass over them elsewhere.
    """
    offered: list[str] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[index]
    return {
        "NPY_DISABLE_CPU_FEATURES": ",".join(offered),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-AVX",
    }


if __name__ == "__main__":
    print(*(f"{name}={value}" for name, value in older_processor().items()))
