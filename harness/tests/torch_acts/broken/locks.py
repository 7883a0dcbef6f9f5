# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Is compiled when it is imported, for longer than the tests take to be collected, and waits for
whoever compiles it. Writes down what became of each process. Legal, and not broken."""

import atexit
import os
import time
from pathlib import Path

FOLDER = Path(os.environ["TBK_ACT_FOLDER"])
LOCK = FOLDER / "lock"
LATER_S = 0.5


def _tell(what: str) -> None:
    with (FOLDER / "log").open("a") as file:
        file.write(f"{what} {os.getpid()}\n")


def _wait(path: Path, there: bool) -> None:
    while path.exists() != there:
        time.sleep(0.01)


_tell("begins")
atexit.register(_tell, "ends")
while True:
    try:
        LOCK.touch(exist_ok=False)
        break
    except FileExistsError:
        _wait(LOCK, there=False)
try:
    _wait(FOLDER / "collected", there=True)
    time.sleep(LATER_S)
finally:
    LOCK.unlink()
_tell("has imported")
