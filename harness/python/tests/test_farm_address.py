# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The address of a farm is asked once, and what is no address is said in a line."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import fake_tbk_litmus
import pytest
from invoke import starter
from tbk_harness.farm import watch
from tbk_harness.farm.place import Place, where


@pytest.mark.parametrize("host", [".", "a..b", "a" * 64, "a..b.c_d"])
def test_a_host_that_cannot_be_is_a_farm_that_is_not_there(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: sys)
    address = f"ray://{host}:10001"
    assert where(None, None, address) == address  # type: ignore[arg-type]
    with pytest.raises(SystemExit) as ended:
        watch.need(Place(address))
    assert ended.value.code == 5
    assert capsys.readouterr().err.startswith(f"tbk: no farm answers at {address}: ")


@pytest.mark.parametrize("command", ["run", "litmus"])
def test_the_address_is_asked_once(command: str, tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise RuntimeError('not in this test')\n")
    (tmp_path / "good.so").touch()
    with socket.create_server(("127.0.0.1", 0)) as farm:
        place = f"ray://127.0.0.1:{farm.getsockname()[1]}"
        litmus = str(Path(fake_tbk_litmus.__file__).resolve())
        words = (command, "good.so", "--farm", place, "--farm-wait", "5s")
        ended = starter(tmp_path)(*words, TBK_LITMUS=litmus, PYTHONPATH=str(tmp_path))
        assert (ended.returncode, ended.stderr) == (7, "tbk: not in this test\n")
        farm.settimeout(0)
        farm.accept()[0].close()
        with pytest.raises(BlockingIOError):
            farm.accept()
