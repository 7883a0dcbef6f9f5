# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each arrow that runs back is found; those that may run are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parent.parent / "check_arrows.py"
GOOD = {
    "contracts/include/tbk/tbk.h": "#include <stdint.h>\n",
    "contracts/tests/fixture.h": '#include "case.h"\n#include <tbk/tbk.h>\n',
    "contracts/tests/case.h": "\n",
    "contracts/compat/1/include/tbk/tbk.h": "#include <tbk/types.h>\n",
    "contracts/compat/1/include/tbk/types.h": "#include <stdint.h>\n",
    "contracts/compat/1/cpu/arena.h": "#include <tbk/tbk.h>\n",
    "contracts/compat/1/cpu/arena.c": '#include <sys/case.h>\n#include "arena.h"\n',
    "contracts/include/tbk/later.h": "#include <tbk/tbk.h>\n",
    "contracts/tests/generated/clauses.c": '#include "../case.h"\n',
    "reference_backends/cpu/arena.h": "#include <tbk/tbk.h>\n",
    "reference_backends/cpu/arena.c": '#include "arena.h"\n#include <stdio.h>\n',
    "reference_backends/cpu/face.c": "#include <vdev/queue.h>\n",
    "reference_backends/virtual_device/include/vdev/queue.h": "#include <stdint.h>\n",
    "reference_backends/virtual_device/inside.h": '#include "vdev/queue.h"\n',
    "reference_backends/virtual_device/queue.c": '#include "inside.h"\n#include <stdio.h>\n',
    "reference_backends/mutants/wrap.c": '#include "../cpu/arena.h"\n',
    "harness/src/worker.c": '#include "fixture.h"\n#include "../../contracts/tests/case.h"\n',
    "bridge/csrc/runtime/memory.h": "#include <ATen/core/Tensor.h>\n#include <tbk/tbk.h>\n",
    "bridge/csrc/runtime/memory.cpp": '#include "runtime/memory.h"\n#include <c10/util/order.h>\n',
    "bridge/tests/cpp/main.cpp": "#include <sys/case.h>\n",
    "bridge/python/torch_tbk/load.py": "import torch\n",
    "contracts/tests/order.h": "\n",
    "contracts/python/tbk_contracts/clause.py": "import yaml\n",
    "harness/python/tbk_harness/cli.py": "import tbk_contracts\nfrom tbk_reports import html\n",
    "harness/python/tbk_harness/torch_worker/worker.py": "import torch\n",
    "reports/python/tbk_reports/html.py": "from tbk_reports.model import Run\n",
}
# (file, its text, what is said)
BAD = [
    ("contracts/tests/wait.c", '#include "arena.h"\n', "contracts includes arena.h"),
    ("contracts/tests/wait.c", '\n#include "../../harness/src/x.h"\n', "wait.c:2: contracts"),
    (
        "contracts/include/tbk/x.h",
        "#include <case.h>\n#include <arena.h>\n",
        "arena.h of reference",
    ),
    ("contracts/compat/1/cpu/x.c", "#include <tbk/later.h>\n", "tbk/later.h crosses a frozen"),
    ("contracts/compat/1/cpu/x.c", '#include "case.h"\n', "case.h crosses a frozen"),
    ("contracts/compat/1/cpu/x.c", '#include "../../../tests/case.h"\n', "case.h crosses a frozen"),
    ("contracts/compat/1/include/tbk/x.h", "#include <tbk/y.h>\n", "tbk/y.h crosses a frozen"),
    ("contracts/tests/x.c", '#include "../compat/1/cpu/arena.h"\n', "arena.h crosses a frozen"),
    ("reference_backends/cpu/x.c", '#include "case.h"\n', "reference_backends includes case.h"),
    ("reference_backends/cpu/x.c", '#include "../../contracts/tests/y.h"\n', "y.h of contracts"),
    ("reference_backends/virtual_device/x.c", "#include <tbk/tbk.h>\n", "x.c:1: tbk/tbk.h crosses"),
    ("reference_backends/virtual_device/x.c", '#include "../cpu/arena.h"\n', "arena.h crosses"),
    ("reference_backends/virtual_device/tests/x.c", '#include "arena.h"\n', "arena.h crosses"),
    ("reference_backends/cpu/x.c", '#include "inside.h"\n', "inside.h crosses"),
    ("reference_backends/cpu/x.c", '#include "../virtual_device/inside.h"\n', "inside.h crosses"),
    ("harness/src/x.c", "#include <vdev/queue.h>\n", "harness includes vdev/queue.h"),
    ("harness/src/x.c", '#include "arena.h"\n', "harness includes arena.h"),
    (
        "contracts/python/tbk_contracts/x.py",
        "import tbk_harness\n",
        "contracts imports tbk_harness",
    ),
    ("contracts/tools/x.py", "from tbk_reports.html import y\n", "contracts imports tbk_reports"),
    ("reports/python/tbk_reports/x.py", "import tbk_harness.cli\n", "reports imports tbk_harness"),
    ("reports/tests/x.py", "def f():\n    import tbk_contracts\n", "x.py:2: reports imports"),
    ("reference_backends/gen.py", "import tbk_contracts\n", "reference_backends imports"),
    ("harness/python/tbk_harness/x.py", "import torch\n", "harness imports torch"),
    ("harness/python/tbk_harness/x.py", "import torch_tbk\n", "harness imports torch_tbk"),
    ("bridge/csrc/x.cpp", '#include "arena.h"\n', "bridge includes arena.h"),
    ("bridge/csrc/x.cpp", '#include "case.h"\n', "bridge includes case.h"),
    ("bridge/python/torch_tbk/x.py", "import tbk_contracts\n", "bridge imports tbk_contracts"),
    ("harness/src/x.c", "#include <torch/library.h>\n", "torch/library.h of PyTorch"),
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Returns a repository in which every arrow runs downwards."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name, text in GOOD.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(root: Path) -> subprocess.CompletedProcess[str]:
    """Returns the check as a program."""
    return subprocess.run(
        [sys.executable, str(CHECK), "--root", str(root)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_arrows_that_run_downwards_are_right(checkout: Path) -> None:
    ran = run(checkout)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout == f"check_arrows: {len(GOOD)} files; no arrows back\n"


@pytest.mark.parametrize(("name", "text", "said"), BAD)
def test_an_arrow_that_runs_back_is_found(checkout: Path, name: str, text: str, said: str) -> None:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text(text)
    ran = run(checkout)
    assert ran.returncode == 1
    assert said in ran.stdout


def test_nothing_to_check_is_an_error(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert run(tmp_path).returncode == 2
