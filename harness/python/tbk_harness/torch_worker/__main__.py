# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Chooses between `list`, `serve` and `litmus`, before anything heavy is imported."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

from tbk_harness.torch_worker import environment
from tbk_harness.torch_worker.request import Request


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tbk_harness.torch_worker")
    parser.add_argument("command", choices=("list", "serve", "litmus"))
    parser.add_argument("--device")
    parser.add_argument("--import", dest="imports", action="append", default=[])
    parser.add_argument("--library")
    parser.add_argument("--option", dest="options", action="append", default=[])
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--only", action="append", default=[], help="what the supervisor selects")
    parser.add_argument("--socket", type=int, default=-1)
    parser.add_argument("--launcher")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--early", type=float, default=0.0, help="ask for the name, for so long")
    parser.add_argument("--gate", help="a library as of tbk/gate.h")
    parser.add_argument("--operations", default="", help="of litmus programs, in their order")
    return parser


def main() -> int:
    """Returns the exit status of the process; of a worker, that of a worker."""
    words = vars(_parser().parse_args())
    command, operations = words.pop("command"), words.pop("operations").split()
    request = Request(**words)
    environment.prepare()
    gc.disable()  # until `memory.settle`: an eighth of an import is looking for what is garbage
    os.environ["TBK_PATIENCE_S"] = f"{min(15.0, request.timeout / 3):g}"
    # After the environment is set, which PyTorch reads when it is imported.
    if command == "litmus":
        from tbk_harness.torch_worker import litmus_server  # noqa: PLC0415

        return litmus_server.serve(request, operations)
    from tbk_harness.torch_worker import fork_server  # noqa: PLC0415

    return fork_server.serve(request) if command == "serve" else fork_server.print_list(request)


if __name__ == "__main__":
    sys.exit(main())
