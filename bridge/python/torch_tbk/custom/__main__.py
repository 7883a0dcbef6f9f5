# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What `tbk operators` runs in processes of their own. Prints JSON lines, but for a header.

`header FILE`, `list FILE`, or `check FILE LIBRARY OPTIONS NAME...`. A check is told before
it begins, so that one which ends the process is known. Exit code 2: FILE is wrong; 4: LIBRARY is.
The reason is the last line on the standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from torch_tbk.custom.check import Check
    from torch_tbk.custom.spec import Operator

BAD_FILE, BAD_LIBRARY = 2, 4


def main(words: list[str]) -> int:
    """Does what the words say. Returns the exit code."""
    from torch_tbk.custom.dry import read_and_try  # noqa: PLC0415
    from torch_tbk.custom.lines import OperatorsError  # noqa: PLC0415

    action, file = words[0], Path(words[1])
    try:
        operators = read_and_try(file)
    except OperatorsError as error:
        print(error, file=sys.stderr)
        return BAD_FILE
    if action == "header":
        from torch_tbk.custom.header import render  # noqa: PLC0415

        print(render(operators, file), end="")
        return 0
    if action == "list":
        print(json.dumps([one.name for one in operators]))
        return 0
    return _check(file, words[2], words[3], words[4:])


def _check(file: Path, library: str, options: str, names: list[str]) -> int:
    import torch  # noqa: PLC0415

    import torch_tbk  # noqa: PLC0415
    from torch_tbk.custom.check import CHECKS  # noqa: PLC0415
    from torch_tbk.custom.lines import OperatorsError  # noqa: PLC0415
    from torch_tbk.custom.register import register_file  # noqa: PLC0415

    try:
        module = torch_tbk.load(library, options=options or None)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(_line(error), file=sys.stderr)
        return BAD_LIBRARY
    if not module.is_available():
        print(f"{library} has no device here", file=sys.stderr)
        return BAD_LIBRARY
    try:
        operators = register_file(file)
    except OperatorsError as error:
        print(error, file=sys.stderr)
        return BAD_FILE
    device = torch.device(module.backend_name, 0)
    for one in operators:
        for title, check in CHECKS.items() if one.name in names else ():
            _tell(one.name, title, "begins", "")
            _tell(one.name, title, *_judged(check, one, device))
    return 0


def _judged(check: Check, one: Operator, device: torch.device) -> tuple[str, str]:
    from torch_tbk.custom.check import NothingToCheck  # noqa: PLC0415

    try:
        check(one, device)
    except NothingToCheck as reason:
        return "not applicable", str(reason)
    except Exception as error:  # whatever the operator raises is its verdict
        return "fail", _line(error)
    return "pass", ""


def _line(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return said if isinstance(error, AssertionError) else f"{type(error).__name__}: {said}"


def _tell(operator: str, check: str, verdict: str, says: str) -> None:
    row = {"operator": operator, "check": check, "verdict": verdict, "says": says[:600]}
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
