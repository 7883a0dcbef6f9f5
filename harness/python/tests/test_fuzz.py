# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Files of any content: each ends in a documented exit code, and none in a traceback.

The same inputs every time, of a fixed number of seeds; TBK_FUZZ_SECONDS=600 goes on for longer.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from tbk_harness import baseline, capabilities, cli, mutants, waivers
from tbk_reports import model

SEEDS = 10
SECONDS = float(os.environ.get("TBK_FUZZ_SECONDS", "0"))
CODES = {value for name, value in vars(model).items() if name.startswith("EXIT_")}

# What stands for a value in JSON, and in TOML where that has it.
VALUES = (
    b"NaN", b"-Infinity", b"Infinity", b"1e999", b"-1e999", b"1e308", b"-1", b"0", b"0.5",
    b"9" * 30, b"9" * 5000, b"1" * 400, b"null", b"true", b"[]", b"{}", b'""', b'"\\ud800"',
    b'"\\u0000"', b'"' + b"x" * 70000 + b'"', b"[[1]]", b'[{"a":[1]}]', b'{"a":null}', b'[1,"a"]',
    b"[" * 3000 + b"]" * 3000, b"[" * 200_000, b'{"a":' * 2000 + b"1" + b"}" * 2000,
    b"2027-02-30", b"nan", b"inf", b"1979-05-27T07:32:00Z", b'"2026-03-01"', b"'c:\\x'",
)  # fmt: skip
PIECES = (b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b'"', b"{", b"]", b"\\", b"\x85",
          b"\xe2\x80\xa8", b"\x1b[31m")  # fmt: skip

WAIVERS = b"""\
[[waiver]]
clause = "MEM-001"
owner = "a"
reason = "b"
link = "c"
versions = ["1.*", "2"]
kind = "fail"
expires = 2027-01-31
"""
BASELINE = b"""\
device = "acme"
written = 2026-03-01

[[cause]]
cause = "fail/memory_test.c/a == b/INVALID"
kind = "fail"
tests = 3
clauses = ["MEM-001"]
example = "memory/a"
said = "other bytes"
"""
FACTS = b"""\
device = "acme"

[capabilities]
stream = true
kernel = false

[operators]
"add.Tensor" = ["float32", "int64"]
"""


EQUIVALENTS = b"""\
[[equivalent]]
mutant = "starts_late"
reason = "nobody sees it"
reviewed = 2026-03-01

[[equivalent]]
name = "ends_early"
reason = "nor this"
clause = "MEM-001"
"""


def _other_value(data: bytes, choice: random.Random) -> bytes:
    """Puts another value behind one of the names, of whatever type."""
    marks = [at for at, byte in enumerate(data) if byte in b":="]
    if not marks:
        return data + choice.choice(VALUES)
    start = choice.choice(marks) + 1
    ends = [end for end in (data.find(mark, start) for mark in (b",", b"}", b"\n")) if end >= 0]
    return data[:start] + choice.choice(VALUES) + data[min(ends, default=len(data)) :]


def _insert(data: bytes, choice: random.Random) -> bytes:
    at = choice.randint(0, len(data))
    return data[:at] + choice.choice(PIECES) + data[at:]


def _tear(data: bytes, choice: random.Random) -> bytes:
    at = choice.randint(0, len(data))
    return data[:at] + data[min(at + choice.choice((1, 40, len(data))), len(data)) :]


def _flip(data: bytes, choice: random.Random) -> bytes:
    at = choice.randrange(len(data)) if data else 0
    return data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :]


def _double(data: bytes, choice: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    lines.insert(choice.randint(0, len(lines)), choice.choice(lines))
    return b"".join(lines)


def mutated(data: bytes, seed: int) -> bytes:
    """Returns a few changes of `data`, the same for the same seed."""
    choice = random.Random(seed)  # noqa: S311
    for _ in range(choice.randint(1, 4)):
        change = choice.choice((_other_value, _other_value, _other_value, _insert, _tear, _flip,
                                _double))  # fmt: skip
        data = change(data, choice)
    return data


def _seeds(count: int = SEEDS) -> Iterator[int]:
    yield from range(count)
    end, seed = time.monotonic() + SECONDS / 7, count
    while time.monotonic() < end:
        yield seed
        seed += 1


def _sound(folder: Path) -> bytes:
    records = [*synthetic.every_verdict(), *synthetic.failing()[:3]]
    return synthetic.write(folder / "sound.jsonl", records).read_bytes()


def _every_value(data: bytes) -> Iterator[bytes]:
    """Returns `data` with each value in place of each member of each kind of line."""
    lines = data.splitlines(keepends=True)
    for at in (0, 1, len(lines) - 1):
        marks = [place for place, byte in enumerate(lines[at]) if byte == ord(":")]
        for number, mark in enumerate(marks):
            value = VALUES[number % len(VALUES)]
            ends = [end for end in (lines[at].find(one, mark) for one in (b",", b"}")) if end > 0]
            changed = lines[at][: mark + 1] + value + lines[at][min(ends) :]
            yield b"".join([*lines[:at], changed, *lines[at + 1 :]])


def _command(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Runs the command; whatever it raises but its exit would be a traceback."""
    monkeypatch.setattr("sys.argv", ["tbk", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, said.out, said.err


def _judged(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, error = _command(words, monkeypatch, capsys)
    assert code in CODES
    assert out.strip() or error.count("\n") == 1, error
    assert "Traceback" not in out + error


@pytest.mark.parametrize("command", ["report", "verify", "diff"])
def test_any_result_file_ends_in_words(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    sound, path = _sound(tmp_path), tmp_path / "r.jsonl"
    for seed in _seeds():
        path.write_bytes(mutated(sound, seed))
        files = ["sound.jsonl", "r.jsonl"] if command == "diff" else ["r.jsonl"]
        _judged([command, *files], monkeypatch, capsys)


def test_any_value_of_any_member_is_read(tmp_path: Path) -> None:
    sound, path = _sound(tmp_path), tmp_path / "r.jsonl"
    for data in _every_value(sound):
        path.write_bytes(data)
        found = model.read_results(path)
        assert all(0 <= test.checks < 2**63 and 0 <= test.wall_ns < 2**63 for test in found.tests)


def test_a_changed_file_is_never_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its digest tells, whatever was changed."""
    monkeypatch.chdir(tmp_path)
    sound = synthetic.write(tmp_path / "sound.jsonl", synthetic.passing(6)).read_bytes()
    lines = sound.splitlines(keepends=True)
    for seed in _seeds(6):
        changed = mutated(lines[1 + seed % 6], seed)
        if changed == lines[1 + seed % 6]:
            continue
        data = b"".join([*lines[: 1 + seed % 6], changed, *lines[2 + seed % 6 :]])
        (tmp_path / "r.jsonl").write_bytes(data)
        code, out, _ = _command(["report", "r.jsonl"], monkeypatch, capsys)
        assert code not in (0, None), out


@pytest.mark.parametrize(
    ("option", "sound"),
    [("--waivers", WAIVERS), ("--baseline", BASELINE)],
    ids=["waivers", "baseline"],
)
def test_any_list_of_what_is_known_ends_in_words(
    option: str, sound: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    synthetic.write(tmp_path / "r.jsonl", synthetic.every_verdict()[:4])
    for seed in _seeds():
        (tmp_path / "known.toml").write_bytes(mutated(sound, seed))
        _judged(["report", "r.jsonl", option, "known.toml"], monkeypatch, capsys)


def test_any_toml_is_taken_or_refused_by_its_reader(tmp_path: Path) -> None:
    """Reads what is mutated without the command around it, so that many are."""
    path = tmp_path / "file.toml"
    for seed in _seeds(15 * SEEDS):
        for sound, load, refusal in (
            (WAIVERS, waivers.load_waivers, waivers.WaiverError),
            (BASELINE, baseline.load, baseline.BaselineError),
            (FACTS, capabilities.load, capabilities.CapabilityError),
            (EQUIVALENTS, mutants.load_equivalents, mutants.MutantError),
        ):
            path.write_bytes(mutated(sound, seed))
            with contextlib.suppress(refusal):
                load(path)


def test_any_file_of_declared_capabilities_is_taken_or_refused(tmp_path: Path) -> None:
    """What the worker of the torch layer reads for --facts, in either form."""
    listing = pytest.importorskip(
        "tbk_harness.torch_worker.listing", reason="the torch layer needs PyTorch"
    )
    as_json = b'{"device": "acme", "capabilities": {"stream": true, "kernel": false}}'
    sound = FACTS.replace(b"kernel = false\n", b"event = false\n")
    for seed in _seeds(15 * SEEDS):
        for name, data in (("declared.toml", sound), ("declared.json", as_json)):
            path = tmp_path / name
            path.write_bytes(mutated(data, seed))
            with contextlib.suppress(listing.ListingError):
                assert set(listing.declared(path).values()) <= {True, False}
