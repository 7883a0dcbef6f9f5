# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What tbk-run reads, of any content: it goes on, or refuses in one line, and believes no footer.

The same few inputs each time; TBK_FUZZ_SECONDS=600 goes on for longer, and TBK_BUILD=build-asan has
AddressSanitizer look over its shoulder.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from runs import TEMPLATE, Record, read, run

ONLY = ("--only", "MEM-002", "--jobs", "2")
SEEDS = 12
SECONDS = float(os.environ.get("TBK_FUZZ_SECONDS", "0"))
GOES_ON = (0, 1, 6)
REFUSES = (2, 8)
VALUES = (
    b"NaN", b"1e999", b"-1", b"0", b"9" * 30, b"9223372036854775807", b"4294967296", b"null",
    b"true", b"[]", b"{}", b'""', b'"\\ud800"', b'"\\u0000"', b'"' + b"x" * 70000 + b'"',
    b"[" * 3000 + b"]" * 3000, b'{"a":' * 2000 + b"1" + b"}" * 2000, b'"pass"', b'"not-reached"',
)  # fmt: skip
PIECES = (b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b'"', b"{", b"]", b"\\", b"\n\n", b"{}\n")


def _mutated(data: bytes, seed: int) -> bytes:
    choice = random.Random(seed)  # noqa: S311
    for _ in range(choice.randint(1, 4)):
        at = choice.randint(0, len(data))
        kind = choice.randrange(5)
        if kind == 0:
            data = data[:at] + choice.choice(PIECES) + data[at:]
        elif kind == 1:
            data = data[:at] + data[min(at + choice.choice((1, 40, len(data))), len(data)) :]
        elif kind == 2 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :]
        elif kind == 3:
            lines = data.splitlines(keepends=True) or [b""]
            lines.insert(choice.randint(0, len(lines)), choice.choice(lines))
            data = b"".join(lines)
        else:
            data = _other_value(data, choice)
    return data


def _other_value(data: bytes, choice: random.Random) -> bytes:
    colons = [at for at, byte in enumerate(data) if byte == ord(":")]
    if not colons:
        return data
    start = choice.choice(colons) + 1
    ends = [end for end in (data.find(mark, start) for mark in (b",", b"}")) if end >= 0]
    return data[:start] + choice.choice(VALUES) + data[min(ends, default=len(data)) :]


def _seeds() -> Iterator[int]:
    yield from range(SEEDS)
    end, seed = time.monotonic() + SECONDS / 2, SEEDS
    while time.monotonic() < end:
        yield seed
        seed += 1


def _sound(output: Path) -> tuple[bytes, list[bytes]]:
    run(TEMPLATE, output, *ONLY)
    data = output.read_bytes()
    return data, data.splitlines(keepends=True)


def _judge(output: Path, ids: set[str], seed: int) -> None:
    done = run(TEMPLATE, output, *ONLY, "--resume")
    said = f"seed {seed}: exit {done.code}, {done.stderr[:400]}"
    assert "Sanitizer" not in done.stderr, said
    assert done.code in (*GOES_ON, *REFUSES), said
    if done.code in REFUSES:
        assert done.stderr.count("\n") == 1, said
    elif done.code == 0:
        results = read(output)
        assert set(results.verdicts) == ids, said
        assert len(results.tests) == len(ids), said


def test_any_file_is_resumed_or_refused(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    sound, lines = _sound(output)
    ids = set(read(output).verdicts)
    half = b"".join(lines[: 1 + len(ids) // 2])
    for seed in _seeds():
        output.write_bytes(_mutated(sound if seed % 2 else half, seed))
        _judge(output, ids, seed)


def test_any_note_of_what_was_running_is_read(tmp_path: Path) -> None:
    """The journal beside a result file whose run was killed: of any size, and of any content."""
    output = tmp_path / "results.jsonl"
    _, lines = _sound(output)
    ids = set(read(output).verdicts)
    for seed in _seeds():
        choice = random.Random(seed)  # noqa: S311
        output.write_bytes(b"".join(lines[: 1 + len(ids) // 2]))
        size = choice.choice((0, 1, 4, 4096, 65536))
        Path(f"{output}.inflight").write_bytes(choice.randbytes(size))
        _judge(output, ids, seed)


def test_a_verdict_that_was_changed_is_not_retold(tmp_path: Path) -> None:
    """A complete file says what its digest covers; one edited by hand is no pass."""
    output = tmp_path / "results.jsonl"
    _, lines = _sound(output)
    for name in ("verdict", "id", "index"):
        record: Record = json.loads(lines[1])
        record[name] = {"verdict": "pass", "id": "memory/other", "index": 1}[name]
        if record == json.loads(lines[1]):
            record["checks"] += 1
        output.write_bytes(b"".join([lines[0], json.dumps(record).encode() + b"\n", *lines[2:]]))
        assert run(TEMPLATE, output, *ONLY, "--resume").code != 0 or _says_more(output, lines)


def _says_more(output: Path, lines: list[bytes]) -> bool:
    """Returns whether what was dropped ran again."""
    return len(read(output).tests) == len(lines) - 2


def test_what_is_not_of_the_run_leaves_a_complete_file(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    sound, lines = _sound(output)
    for at in (0, 1, len(lines)):
        output.write_bytes(b"".join([*lines[:at], lines[1], b"{}\n", *lines[at:]]))
        assert run(TEMPLATE, output, *ONLY, "--resume").code == 0
        assert output.read_bytes() == sound


def test_a_footer_with_other_counts_is_not_believed(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    _, lines = _sound(output)
    for name, value in (("planned", 1), ("counts", {}), ("tier", "thorough")):
        footer = {**json.loads(lines[-1]), name: value}
        output.write_bytes(b"".join(lines[:-1]) + json.dumps(footer).encode() + b"\n")
        assert run(TEMPLATE, output, *ONLY, "--resume").code == 6
