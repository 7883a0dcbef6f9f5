# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a sequence, and how they are written: `alloc a 4096 s1; read a s2; free a`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

STREAMS = 4
SLOTS = "abcdefgh"


@dataclass(frozen=True)
class Call:
    """One call; members that it does not have are as they are here."""

    name: str
    slot: str = ""
    bytes: int = 0
    stream: int = -1
    other: int = -1
    """The stream that is waited for."""


# What each call is followed by. Streams are s0, the one that is current from the start, to s3.
FORMS: dict[str, tuple[str, ...]] = {
    "alloc": ("slot", "bytes", "stream"),  # and writes it there
    "write": ("slot", "stream"),
    "read": ("slot", "stream"),
    "record": ("slot", "stream"),
    "free": ("slot",),
    "free_in_thread": ("slot",),
    "resize_to_0": ("slot",),  # of the storage; the tensor goes, too
    "hold": ("stream",),  # with long work
    "wait": ("stream", "other"),  # the first one for the second one
    "synchronize": ("stream",),
    "settle": (),  # waits for the device
    "empty_cache": (),
    "too_much": (),  # asks for more than there is
    "statistics": (),
    "reset_peak": (),
    "reset_sums": (),
}
FREES = ("free", "free_in_thread", "resize_to_0")


def _word(call: Call, member: str) -> str:
    value = getattr(call, member)
    return f"s{value}" if member in ("stream", "other") else str(value)


def line(calls: Sequence[Call]) -> str:
    """Returns the sequence as it is printed."""
    return "; ".join(
        " ".join([call.name, *(_word(call, member) for member in FORMS[call.name])])
        for call in calls
    )


def _value(member: str, word: str) -> str | int:
    forms = {"slot": f"[{SLOTS}]", "bytes": r"\d{1,12}"}
    form = forms.get(member, f"s[0-{STREAMS - 1}]")
    if not re.fullmatch(form, word):
        raise ValueError(f"{word!r} is no {member}: {form} is expected")
    return word if member == "slot" else int(word.removeprefix("s"))


def parse(text: str) -> list[Call]:
    """Returns the calls of a line. Raises ValueError that names what is wrong."""
    calls = []
    for piece in text.split(";"):
        name, *words = piece.split() or [""]
        members = FORMS.get(name)
        if members is None or len(words) != len(members):
            forms = ", ".join(" ".join([one, *FORMS[one]]) for one in FORMS)
            raise ValueError(f"{piece.strip()!r} is no call; calls are: {forms}")
        values = {m: _value(m, word) for m, word in zip(members, words, strict=True)}
        calls.append(Call(name, **values))  # type: ignore[arg-type]
    return calls
