# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Installed from the wheel, or editable, the project works, and so does a vendor's package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fresh import PIP, Venv, as_in_a_checkout, run

pytest_plugins = ["fresh"]

FIND = """
import json, sys, torch_tbk
assert "torch" not in sys.modules, "importing torch_tbk imports PyTorch"
from torch_tbk._extension import extension
assert "torch" not in sys.modules
print(json.dumps([extension().__file__, torch_tbk.__file__]))
"""
ONES = 'import torch; print(torch.ones(3, device="acme").add(1).tolist())'


def test_the_wheel_runs_the_suite_on_the_backend_it_carries(installed: Venv) -> None:
    installed.tbk("run", "cpu", "--layer", "c", "--report-dir", "report")
    header = json.loads((installed.folder / "report/results.jsonl").read_text().partition("\n")[0])
    assert Path(header["backend"]["path"]).is_relative_to(installed.folder)
    assert "MEM-001" in installed.tbk("show", "MEM-001").stdout


def test_the_wheel_judges_the_torch_layer(installed: Venv) -> None:
    installed.tbk(
        "run", "cpu", "--layer", "torch", "--only", "torch_guard", "--report-dir", "torch"
    )


def test_the_wheel_loads_its_own_bridge(installed: Venv) -> None:
    for name in json.loads(installed("-c", FIND).stdout):
        assert Path(name).is_relative_to(installed.folder)


def test_an_editable_install_uses_the_checkout(clone: Path, tmp_path: Path) -> None:
    venv = Venv(tmp_path / "venv")
    venv(*PIP, *as_in_a_checkout(clone), "--editable", clone)
    compiled, package = json.loads(venv("-c", FIND).stdout)
    assert compiled == str(clone / "build/python/torch_tbk/_C.so")
    assert package == str(clone / "bridge/python/torch_tbk/__init__.py")
    assert "MEM-001" in venv.tbk("show", "MEM-001").stdout


@pytest.fixture(scope="module")
def vendor(installed: Venv, clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """Returns the example's README, word by word, next to the installed wheel."""
    folder = tmp_path_factory.mktemp("vendor") / "example"
    shutil.copytree(clone / "bridge" / "example", folder)
    installed.tbk("new", "acme", cwd=folder)
    installed(*PIP, folder)
    return installed


def test_plain_import_torch_is_enough(vendor: Venv) -> None:
    assert vendor("-c", ONES).stdout.strip() == "[2.0, 2.0, 2.0]"
    assert vendor("-c", f"import torch_acme; {ONES}").stdout.strip() == "[2.0, 2.0, 2.0]"


def test_autoload_can_be_turned_off(vendor: Venv) -> None:
    off = vendor("-c", ONES, TORCH_DEVICE_BACKEND_AUTOLOAD="0", expect=1)
    assert "acme" in off.stderr.splitlines()[-1]
    loaded = vendor(
        "-c", "import torch, sys; print('torch_tbk' in sys.modules)",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )  # fmt: skip
    assert loaded.stdout.strip() == "False"


def test_a_bridge_for_another_torch_is_one_clear_line(installed: Venv) -> None:
    info = next(installed.folder.glob("lib/python*/site-packages/torch_tbk/_build_info.json"))
    built = info.read_text()
    try:
        info.write_text(json.dumps({**json.loads(built), "torch": "2.12.1"}))
        ended = installed("-c", FIND, TORCH_DEVICE_BACKEND_AUTOLOAD="0", expect=1)
    finally:
        info.write_text(built)
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("ImportError: torch_tbk was built for torch 2.12.1, and this is torch ")


@pytest.mark.parametrize(("state", "ends"), [("wheel", False), ("editable", True), ("", True)])
def test_a_warning_ends_no_build_of_users(
    state: str, ends: bool, clone: Path, tmp_path: Path
) -> None:
    """Of what a compiler warns depends on its release, and on the headers of PyTorch."""
    words = ["-DTBK_BRIDGE=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    words += ["-DSKBUILD=2", f"-DSKBUILD_STATE={state}"] if state else []
    run("cmake", "-S", clone, "-B", tmp_path, *words, cwd=tmp_path)
    assert ("-Werror" in (tmp_path / "compile_commands.json").read_text()) == ends
