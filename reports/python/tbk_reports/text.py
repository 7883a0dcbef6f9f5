# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Make text that a backend wrote harmless, whatever it holds."""

from __future__ import annotations

import re
import unicodedata

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC, DCS and the like, up to their end
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
# Overrides of the writing direction can make a line read as something else.
_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_KEPT = frozenset("\n\t")


def _safe(character: str) -> str:
    if character in _KEPT:
        return character
    category = unicodedata.category(character)
    if (
        category in ("Cc", "Cs", "Zl", "Zp")
        or character in _DIRECTION
        or character in "\ufffe\uffff"
    ):
        return "\ufffd"
    return character


def clean(text: str) -> str:
    """Several lines: no escape sequences, no control characters but newline and tab."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(map(_safe, text))


def line(text: str, limit: int = 300) -> str:
    """Returns one line of at most `limit` characters."""
    return shorten(" ".join(clean(text[: limit * 16]).split()), limit)


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def tail(text: str, limit: int) -> str:
    """Returns the last `limit` characters, with a word where something was cut."""
    text = clean(text[-limit * 4 :]) if len(text) > limit * 4 else clean(text)
    return text if len(text) <= limit else "… (cut)\n" + text[-limit:]


def ends(text: str, limit: int) -> str:
    """`limit` characters, a third of them from the beginning, with a word where some were cut."""
    if len(text) <= limit:
        return clean(text)
    head = limit // 3
    return clean(text[:head]) + "\n… (cut)\n" + clean(text[head - limit :])


def bytes_words(size: int) -> str:
    """Returns a size in the largest unit that it fills: "256 MiB", "1.5 KiB", "1 byte"."""
    amount, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        del units[0]
    unit = "byte" if size == 1 else units[0]
    return f"{amount:.1f}".removesuffix(".0") + f" {unit}"


def time_words(nanoseconds: int) -> str:
    for limit, unit, scale in ((1e3, "ns", 1.0), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    seconds = nanoseconds / 1e9
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def count_words(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
