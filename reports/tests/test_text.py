# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import unicodedata

import pytest
import synthetic
from tbk_reports import text


def test_clean_leaves_no_control_character() -> None:
    cleaned = text.clean(synthetic.HOSTILE + "".join(map(chr, range(0x300))))
    assert not [
        character
        for character in cleaned
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t"
    ]
    assert "\u202e" not in cleaned


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\rb\r\nc", "a\nb\nc"),
        ("bell\x07", "bell\ufffd"),
        ("naïve ≥ 日本語", "naïve ≥ 日本語"),
    ],
)
def test_escape_sequences_go(dirty: str, cleaned: str) -> None:
    assert text.clean(dirty) == cleaned


def test_megabytes_cost_little() -> None:
    assert len(text.line("x\x1b[31m" * 1_000_000, 100)) == 100
    assert len(text.tail("<>&\x00" * 1_000_000, 2_000)) < 2_100


def test_ends_keeps_both_ends() -> None:
    cut = text.ends("what happened\n" + "a" * 1000 + "the end", 100)
    assert cut.startswith("what happened")
    assert cut.endswith("the end")
    assert len(cut) < 120
    assert text.ends("short", 10) == "short"


def test_tail_keeps_the_end() -> None:
    assert text.tail("a" * 100 + "end", 10).endswith("end")
    assert text.tail("short", 10) == "short"


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [(5, "5 ns"), (1_500, "1.5 µs"), (2_000_000, "2 ms"), (3 * 10**9, "3 s"),
     (150 * 10**9, "2 min 30 s")],
)  # fmt: skip
def test_times_in_words(nanoseconds: int, words: str) -> None:
    assert text.time_words(nanoseconds) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "1 byte"), (64, "64 bytes"), (1536, "1.5 KiB"), (2**28, "256 MiB"), (3 * 2**40, "3 TiB")],
)
def test_sizes_in_words(size: int, words: str) -> None:
    assert text.bytes_words(size) == words
