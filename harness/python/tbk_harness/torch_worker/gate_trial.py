# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tries a gate, in a process of its own, before tbk check relies on it."""

from __future__ import annotations

import importlib
import os
import sys

import torch
from tbk_contracts.torch import gate

BAD_GATE, NO_DEVICE = 4, 5


def main(device: str, imports: list[str]) -> int:
    """Prints what it does, or why it can't be used. Returns the exit code of the command."""
    try:
        for name in imports:
            importlib.import_module(name)
        stream = torch.Stream(torch.device(device, 0))
    except Exception as error:
        print(f"it has no streams to hold: {str(error).partition(chr(10))[0]}")
        return NO_DEVICE
    try:
        found = gate.Gate(os.environ[gate.LIBRARY], os.environ[gate.KEEPER])
        holds = found.holds(stream)
    except gate.GateError as error:
        print(error)
        return BAD_GATE
    print("holds a stream at a time" if holds else "held its caller and is not used")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    os._exit(code)  # a stream may still be held
