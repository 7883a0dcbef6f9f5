# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Result files as tbk-run could write them, for the tests of what reads them."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SENTENCES = {
    "memory": ("MEM", "no byte of it belongs to another live allocation."),
    "copy": ("CPY", "the bytes of the source arrive in order, and no other byte is written."),
    "stream": ("STR", "OK only if all earlier work is complete, with effects visible to the host."),
    "event": ("EVT", "later work of the stream waits for what the event had recorded."),
    "kernel": ("KRN", "refuses with UNSUPPORTED before any effect."),
    "random": ("RNG", "equal seed and offset give equal bits."),
    "fork": ("FRK", "a child that touches nothing exits cleanly and promptly."),
    "teardown": ("TDN", "a process that closes nothing ends cleanly."),
}
NAMES = (
    "holds_for_one_byte",
    "holds_for_many",
    "holds_on_the_second_device",
    "holds_after_an_error",
)
HOSTILE = (
    "</script><script>alert(1)</script><!-- ]]> & \"quotes\" 'single' "
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\x01\x08 \u202egnirts\u202c [bold]rich[/bold] "
    "**md** | `tick` ```fence``` [a](javascript:alert(1)) <img src=x onerror=alert(1)> "
    "\ud800 \ufffe @everyone https://example.invalid {{ 7*7 }} {% raw %} \r\n# heading"
)


def header(planned: int, **changes: Any) -> Record:
    record: Record = {
        "record": "header",
        "format": 1,
        "suite": {"version": "0.1.0", "digest": "a" * 64},
        "spec": {"digest": "b" * 64, "clauses": 251},
        "backend": {
            "path": "/opt/acme/libacme.so",
            "digest": "c" * 64,
            "name": "acme",
            "version": "1.4.2",
            "abi_version": 0,
            "options": "",
        },
        "devices": [
            {
                "name": "Acme A100 (simulated)",
                "flat_address": True,
                "host_visible": False,
                "memory_bytes": 268435456,
                "copy_granularity": 1,
                "max_rank": 8,
            }
        ],
        "capabilities": {"stream": True, "event": True, "kernel": True, "peer": False},
        "machine": {"host_os": "Debian 12", "kernel": "6.1.0", "cpu": "Example CPU", "cores": 2},
        "command": ["tbk-run", "./libacme.so", "--output", "tbk-report/results.jsonl"],
        "seed": 42,
        "isolation": "fork",
        "gate": "full",
        "started": "2026-03-01T12:00:00Z",
        "planned": planned,
        "selection": [],
        "tier": "quick",
        "shard": None,
        "shuffle": None,
        "repeat": 1,
    }
    return {**record, **changes}


def case(index: int, verdict: str = "pass", **changes: Any) -> Record:
    areas = list(SENTENCES)
    area = areas[(index // 6) % len(areas)]
    test_id = f"{area}/{NAMES[index % 4]}_{index}"
    prefix, sentence = SENTENCES[area]
    clause = f"{prefix}-{1 + index // (6 * len(areas)) * 3 + index % 3:03d}"
    choice = random.Random(index)  # noqa: S311
    spent = int(10 ** choice.uniform(3.5, 8.3))
    record: Record = {
        "record": "test",
        "index": index,
        "id": test_id,
        "suite": area,
        "clause": clause,
        "level": "should" if index % 9 == 8 else "must",
        "profile": "core" if area == "memory" else "async",
        "layer": "c",
        "repeat": 0,
        "verdict": verdict,
        "evidence": "proven" if verdict == "pass" else None,
        "evidence_reason": None,
        "checks": 12,
        "failures": 0,
        "duration_ns": spent,
        "wall_ns": spent + 150_000,
        "phase": "body",
        "blame": None,
        "cause": None,
        "expected": None,
        "seen": None,
        "where": None,
        "what": None,
        "signal": 0,
        "exit_status": 0,
        "needs_missing": None,
        "notes": None,
        "clause_text": sentence,
        "clause_source": "c10/core/impl/DeviceGuardImplInterface.h: synchronizeStream",
        "output": "",
        "output_bytes": 0,
        "seed": index * 7919,
        "replay": f"tbk-run /opt/acme/libacme.so --only {test_id} --seed 42",
    }
    record.update(_ADDED.get(verdict, {}))
    return {**record, **changes}


_ADDED: dict[str, Record] = {
    "fail": {
        "failures": 1,
        "blame": "backend",
        "cause": "event_wait returns before the recorded work is complete",
        "expected": "byte 0 is 0x5a",
        "seen": "byte 0 is 0xee; 4096 of 4096 bytes differ",
        "where": "event_wait_test.c:118",
        "what": "FX_CHECK_MEMORY(fx, bytes, memory, size)",
        "output": "acme: queue 0 drained\nacme: event 3 signalled\n",
        "output_bytes": 47,
    },
    "warning": {
        "failures": 1,
        "level": "should",
        "blame": "backend",
        "cause": "fail/accuracy.py/exp of every value/",
        "expected": "1.0 at [0], or at most 3.6e-07 off",
        "seen": "1.000001: 2.8 times as far off; 1 of 9 elements are wrong",
        "what": "exp of every value",
        "where": "accuracy.py:61",
    },
    "crash": {
        "blame": "backend",
        "cause": "SIGSEGV in memory_free",
        "signal": 11,
        "exit_status": None,
        "phase": "clean",
        "expected": "the process ends by itself",
        "seen": "signal 11 (SIGSEGV), address 0x10",
        "output": "free(): invalid pointer\n",
        "output_bytes": 24,
    },
    "hang": {
        "blame": "backend",
        "cause": "stream_synchronize does not return",
        "expected": "an end within 10 s",
        "seen": "no end after 10.0 s",
        "wall_ns": 10_004_000_000,
    },
    "unsupported": {"needs_missing": "peer", "checks": 0, "wall_ns": 0, "duration_ns": 0},
    "not-shown": {
        "evidence": "not-shown",
        "evidence_reason": "no callback and no operation that is long enough to hold a stream",
    },
    "left-out": {"checks": 0, "wall_ns": 0, "duration_ns": 0},
    "not-reached": {"checks": 0, "wall_ns": 0, "duration_ns": 0, "blame": "harness"},
    "poisoned": {
        "blame": "backend",
        "cause": "the device no longer computes",
        "seen": "1 + 1 is 0",
    },
    "polluted": {
        "blame": "backend",
        "cause": "fails after memory/holds_for_many",
        "seen": "0 is 1",
    },
    "unstable": {"blame": "backend", "cause": "3 of 10 repeats fail", "seen": "pass and fail"},
    "suite-error": {"blame": "suite", "cause": "the test made no check", "checks": 0},
}


def footer(records: list[Record], digest: str, planned: int, **changes: Any) -> Record:
    counts = Counter(record["verdict"] for record in records)
    harmless = {"pass", "warning", "xfail", "unsupported", "not-shown", "left-out"}
    error = counts["suite-error"] > 0
    bad = any(name not in {*harmless, "suite-error"} for name in counts)
    record: Record = {
        "record": "footer",
        "counts": dict(counts),
        "planned": planned,
        "recorded": len(records),
        "verdict": "fail" if bad else "error" if error else "pass",
        "exit_code": 1 if bad else 6 if error else 0,
        "digest": digest,
        "finished": "2026-03-01T12:00:02Z",
        "duration_ns": 1_840_000_000,
        "health": "ok",
    }
    return {**record, **changes}


def lines(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def write(
    path: Path,
    records: list[Record],
    head: Record | None = None,
    foot: Record | None = None,
    end: bool = True,
) -> Path:
    """Returns a whole result file; `end=False` leaves the footer out, as a killed run does."""
    planned = (head or {}).get("planned", len(records))
    body = lines([head or header(planned), *records])
    if end:
        digest = hashlib.sha256(body).hexdigest()
        body += lines([{**footer(records, digest, planned), **(foot or {})}])
    path.write_bytes(body)
    return path


def passing(count: int = 300) -> list[Record]:
    """Returns a conforming backend without peer access, on a device that shows most of what it
    should."""
    records = []
    for index in range(count):
        if index % 25 == 7:
            records.append(case(index, "unsupported", needs_missing="peer"))
        elif index % 60 == 9:
            records.append(case(index, "unsupported", needs_missing="random"))
        elif index % 70 == 11:
            records.append(case(index, "not-shown"))
        elif index % 40 == 5:
            changes = {"evidence": "trivial", "evidence_reason": "one queue serves all streams"}
            records.append(case(index, **changes))
        else:
            records.append(case(index))
    return records


def failing(count: int = 300) -> list[Record]:
    """Returns the same with several causes of failure."""
    records = passing(count)
    for index in range(count):
        if index % 23 == 4:
            records[index] = case(index, "fail")
        elif index % 71 == 15:
            records[index] = case(index, "crash")
        elif index % 149 == 100:
            records[index] = case(index, "hang")
        elif index % 90 == 50:
            changes = {
                "cause": "sum.dim_IntList loses the last element",
                "seen": "31.0",
                "expected": "32.0",
            }
            records[index] = case(index, "fail", **changes)
    return records


def every_verdict() -> list[Record]:
    verdicts = (
        "pass",
        "fail",
        "crash",
        "hang",
        "poisoned",
        "polluted",
        "not-reached",
        "unsupported",
        "not-shown",
        "left-out",
        "warning",
        "xfail",
        "xpass",
        "unstable",
        "suite-error",
    )
    return [case(index, verdict) for index, verdict in enumerate(verdicts)]


def hostile(count: int = 40) -> list[Record]:
    """Every text that comes from a backend tries to be more than text."""
    records = []
    for index in range(count):
        verdict = ("fail", "crash", "not-shown", "unsupported", "pass")[index % 5]
        changes: Record = dict.fromkeys(
            (
                "cause",
                "expected",
                "seen",
                "what",
                "where",
                "notes",
                "evidence_reason",
                "needs_missing",
                "clause_text",
                "clause_source",
                "replay",
            ),
            HOSTILE,
        )
        records.append(case(index, verdict, **changes, output=HOSTILE * 30, output_bytes=9_000_000))
    return records


def hostile_header(planned: int) -> Record:
    made = header(planned, gate=HOSTILE, shard=HOSTILE, selection=[HOSTILE])
    made["backend"] = {"path": HOSTILE, "name": HOSTILE * 3, "version": HOSTILE}
    made["devices"] = [{"name": HOSTILE, HOSTILE: HOSTILE}]
    made["capabilities"] = {HOSTILE: False}
    made["command"] = [HOSTILE]
    return made


def many(count: int = 8_000) -> list[Record]:
    """Returns a long run: few tests, many repeats, one in a hundred fails."""
    distinct = 300
    return [
        {
            **case(index % distinct, "fail" if index % 100 == 13 else "pass"),
            "index": index,
            "repeat": index // distinct,
        }
        for index in range(count)
    ]


def torch_case(index: int, verdict: str = "pass", **changes: Any) -> Record:
    """Returns a test of the torch layer: an operator with a dtype, and how it is served."""
    dtypes = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
    name, dtype = f"op_{index // len(dtypes):03d}", dtypes[index % len(dtypes)]
    served = ("native", "composite", "fallback", "refused", "named", "generic", "composed")[
        index // 3 % 7
    ]
    program = f'import torch\n\nx = torch.ones(4, device="acme")\nprint(torch.{name}(x))\n'
    made = case(index, verdict)
    test_id = f"torch_operators/{name}[{dtype}]"
    made.update(
        id=test_id, suite="torch_operators", layer="torch", profile="torch",
        clause=f"OPR-{501 + index % 40}", level="must",
        clause_text="the result is that of the same operator in a wider type.",
        replay=f"tbk-run --torch-device acme --torch-import torch_acme --only {test_id}",
        facts={"operator": name, "dtype": dtype, "served": served, "program": program,
               "transfers": 0, "margin": 0.3},
    )  # fmt: skip
    return {**made, **changes}


def wall(count: int = 8_000, tests: int = 9_800) -> list[Record]:
    """Returns a device of which most tests fail, from four causes."""
    causes = (
        ("fail/operators.py:88/add/aten::add.out", "NotImplementedError: Could not run "
         "'aten::add.out' with arguments from the 'PrivateUse1' backend."),
        ("fail/host.py:40/copy/float64", "RuntimeError: acme has no float64"),
        ("fail/operators.py:120/rank/8", "RuntimeError: cannot be larger than 8 dimensions"),
        ("crash/body/SIGSEGV", ""),
    )  # fmt: skip
    records = []
    for index in range(tests):
        if index >= count:
            records.append(torch_case(index, "left-out" if index % 3 else "pass"))
            continue
        cause, seen = causes[0 if index % 2 else 1 if index % 4 else 2 if index % 8 else 3]
        verdict = "fail" if seen else "crash"
        made = torch_case(index, verdict, cause=cause, blame="backend", what="add(a, b)")
        said = {"seen": seen, "expected": "no exception"} if seen else {}
        records.append({**made, **said})
    return records


WHOLE_AREAS = 45


def whole(clauses: int = 720) -> list[Record]:
    """Returns a run of both layers that passes: as many areas, clauses and tests as there are."""
    records: list[Record] = []
    for index in range(clauses):
        area = index % WHOLE_AREAS
        layer = "c" if area < 18 else "torch"
        suite = f"{layer}_area_{area:02d}"
        named = {
            "suite": suite,
            "clause": f"A{chr(65 + area // 26)}{chr(65 + area % 26)}-{index:03d}",
        }
        for test in range(2):
            made = case(len(records), id=f"{suite}/holds_{index}_{test}", layer=layer, **named)
            if index % 40 == 7:
                made |= _ADDED["unsupported"]
                made["verdict"] = "unsupported"
            records.append(made)
    return records + [torch_case(index) for index in range(5_000)]
