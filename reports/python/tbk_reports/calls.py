# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a test asked of a backend: functions of the ABI, and how they were called.

A thing asked is a function ("upload"), an operator ("op:add.Tensor"), an opcode of a program
("opcode:ADD") or a flag of a generic kernel ("flag:REVERSE"), or a function called in one way
("upload on a stream"). What a clause speaks of is said in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Before the names of what an instruction of a program computes, and of a flag of a generic kernel.
OPCODE, FLAG = "opcode:", "flag:"
# The bits of two digits of a record's `calls`, above the lowest, which every call has.
WITHOUT_STREAM = " without a stream"
ON_STREAM = " on a stream"
ON_OTHER_DEVICE = " on another device"
ON_OTHER_THREAD = " on another thread"
WITH_ERROR = " with an error"
WITH_NOTHING = " with nothing"
AT_OFFSET = " at an offset"
WAYS = {2: WITHOUT_STREAM, 4: ON_STREAM, 8: ON_OTHER_DEVICE, 16: ON_OTHER_THREAD,
        32: WITH_ERROR, 64: WITH_NOTHING, 128: AT_OFFSET}  # fmt: skip
# The bits of two digits of `call_states`.
ON_FOREIGN = " with what another thread made"
WHILE_CLOSED = " on a device that is not open"
# Of an opcode, which is no opcode of tbk::pointwise by that.
IN_REDUCTION = " in a reduction"
IN_SCAN = " in a scan"
STATES = {1: ON_FOREIGN, 2: WHILE_CLOSED, 4: IN_REDUCTION, 8: IN_SCAN}


def traced(header: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what the digits of `calls` stand for; of a run over both layers, in the C layer."""
    layers = header.get("layers")
    part = layers.get("c") if isinstance(layers, Mapping) else header
    names = part.get("traced") if isinstance(part, Mapping) else None
    return tuple(map(str, names)) if isinstance(names, list) else ()


def asked(calls: str, names: Sequence[str], states: str = "") -> frozenset[str]:
    """Returns the things that a record's `calls` and `call_states` say were asked; empty where
    they can't be read.
    """
    try:
        bits, in_state = bytes.fromhex(calls), bytes.fromhex(states)
    except ValueError:
        return frozenset()
    found = set()
    for name, bit in zip(names, bits[1:], strict=False):
        if bit & 1:
            found.add(name)
            found.update(name + way for value, way in WAYS.items() if bit & value)
    for name, bit in zip(names, in_state[1:], strict=False):
        found.update(name + way for value, way in STATES.items() if bit & value)
    return frozenset(found)


def function_of(thing: str) -> str:
    """Returns the function, operator or opcode of a thing asked: "upload" of "upload on a
    stream".
    """
    return thing.partition(" ")[0].removeprefix("op:").removeprefix(OPCODE).removeprefix(FLAG)


def how_much(asked: frozenset[str]) -> int:
    """Returns how much was asked: a launch is one thing, whatever it computes."""
    return sum(not thing.startswith((OPCODE, FLAG)) for thing in asked)
