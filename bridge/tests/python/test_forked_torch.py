# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A fork of what has imported PyTorch is as good as a process that was started."""

from __future__ import annotations

import time
from pathlib import Path

import forked_torch
import pytest

SHOW = "import atexit, os, sys, torch, warnings\natexit.register(print, 'at the end')\n"
PROGRAMS = {
    "it prints": "print(sys.argv, sys.path[0], __name__, os.environ['WORD'])\n"
    "print(torch._C._get_privateuse1_backend_name())",
    "it exits": "sys.exit(3)",
    "it is killed": "sys.stdout.flush(); os.kill(os.getpid(), 15)",
    "it says what it exits for": "sys.exit('no')",
    "it warns": "warnings.warn('of something')",
}
NIGHT = ("it exits", "it is killed", "it says what it exits for")


@pytest.mark.parametrize(
    "title",
    [pytest.param(one, marks=[pytest.mark.night] if one in NIGHT else []) for one in PROGRAMS],
)
def test_it_ends_and_says_the_same(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = SHOW + PROGRAMS[title]
    monkeypatch.delenv("TBK_TESTS_EXEC", raising=False)
    forked = forked_torch.run(program, [1, "a b"], {"WORD": "said"})
    monkeypatch.setenv("TBK_TESTS_EXEC", "1")
    started = forked_torch.run(program, [1, "a b"], {"WORD": "said"})
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    # A traceback has frames of the fork, too.
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_what_outlives_its_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TBK_TESTS_EXEC", raising=False)
    forked_torch.run("import torch")  # the server is there
    monkeypatch.setattr(forked_torch, "PATIENCE", 5.0)
    program = "import os, sys, time, torch\nprint(os.getpid(), file=open(sys.argv[1], 'w', 1))\n"
    file = tmp_path / "process"
    with pytest.raises(TimeoutError):
        forked_torch.run(program + "time.sleep(600)", [file])
    process = Path("/proc") / file.read_text("utf-8").strip()
    until = time.monotonic() + 60
    while process.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not process.exists()
