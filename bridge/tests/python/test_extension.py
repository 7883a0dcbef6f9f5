# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whatever the compiled part does not fit, one line says so, and nothing is loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_tbk import _extension

Child = Callable[..., str]
PYTHON = "{}.{}".format(*sys.version_info)
LOAD = """
import sys, types

version = sys.argv[1]
if version:
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["torch"].__version__ = version
from torch_tbk._extension import extension

try:
    extension()
except ImportError as error:
    print(error)
"""

PROBLEM = """
import sys
sys.path.insert(0, sys.argv[1])
from torch_tbk._extension import problem
print(problem())
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Returns a build folder whose compiled part no loader would take."""
    folder = tmp_path / "python" / "torch_tbk"
    folder.mkdir(parents=True)
    (folder / "_C.so").write_bytes(b"no library")
    return tmp_path


def built_for(build: Path, release: str = torch.__version__, python: str = PYTHON) -> None:
    info = {"torch": release, "minimum": "2.11", "python": python, "bridge": "0.1.0"}
    (build / "python" / "torch_tbk" / "_build_info.json").write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("release", "here", "says"),
    [
        ("2.13.0+cpu", "2.10.1+cu128", "needs torch 2.11 or later; this is torch 2.10.1+cu128"),
        ("2.13.0+cpu", "2.9.0", "needs torch 2.11 or later; this is torch 2.9.0"),
        ("2.13.0+cpu", "2.11.0", "was built for torch 2.13.0+cpu, and this is torch 2.11.0"),
        ("2.13.0", "2.13.1", "was built for torch 2.13.0, and this is torch 2.13.1"),
        ("2.14.0a0+git1", "2.14.0", "was built for torch 2.14.0a0+git1, and this is torch 2.14.0"),
    ],
)
def test_another_torch_is_one_line(
    child: Child, build: Path, release: str, here: str, says: str
) -> None:
    built_for(build, release)
    said = child(LOAD, here, TBK_BUILD=str(build))
    assert said.startswith(f"torch_tbk {says}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("here", "says"),
    [
        ("2.10.1", "needs torch 2.11"),
        ("2.11.0", "was built for torch 2.13.0"),
        ("2.13.0", ""),
        ("", ""),
    ],
)
def test_files_tell_it_without_pytorch(
    child: Child, build: Path, tmp_path: Path, here: str, says: str
) -> None:
    built_for(build, "2.13.0")
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('imported')\n")
    if here:
        (package / "version.py").write_text(f"__version__ = '{here}'\ncuda = None\n")
    said = child(PROBLEM, str(tmp_path), TBK_BUILD=str(build))
    assert says in said
    assert bool(said.strip()) == bool(says)


def test_one_release_has_many_builds(child: Child, build: Path) -> None:
    built_for(build, "2.13.0+cpu")
    said = child(LOAD, "2.13.0+cu130", TBK_BUILD=str(build))
    assert "_C.so" in said
    assert "built for" not in said  # it came as far as the loader


def test_another_python_is_one_line(child: Child, build: Path) -> None:
    built_for(build, python="3.9")
    said = child(LOAD, "", TBK_BUILD=str(build), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert said == f"torch_tbk was built for Python 3.9; this is {PYTHON}\n"


def test_a_build_without_the_bridge_is_one_line(child: Child, tmp_path: Path) -> None:
    said = child(LOAD, "", TBK_BUILD=str(tmp_path), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert said.startswith("torch_tbk has no compiled part: there is no _C.so in ")
    assert said.count("\n") == 1


def test_a_torch_that_no_bridge_is_built_for_is_told_so(child: Child, tmp_path: Path) -> None:
    """Building again, as a missing compiled part asks for, would be no help."""
    said = child(LOAD, "2.10.1", TBK_BUILD=str(tmp_path))
    assert said == "torch_tbk needs torch 2.11 or later; this is torch 2.10.1\n"


def test_the_oldest_torch_is_the_one_that_the_build_takes() -> None:
    extension = Path(str(_extension.extension().__file__))
    built = json.loads(extension.with_name("_build_info.json").read_text())
    assert built["minimum"] == _extension._MINIMUM


def test_a_part_that_says_nothing_of_itself_is_one_line(child: Child, build: Path) -> None:
    said = child(LOAD, "2.13.0", TBK_BUILD=str(build))
    assert said.startswith(f"torch_tbk can't tell what {build}")
    assert said.count("\n") == 1


def test_importing_the_package_loads_nothing(child: Child) -> None:
    program = "import sys, torch_tbk; print({'torch', 'torch_tbk._C'} & set(sys.modules))"
    assert child(program) == "set()\n"
