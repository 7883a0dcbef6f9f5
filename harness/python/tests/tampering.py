# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""One archive changed in one place, in many ways, each drawn from a seed.

The first ways leave the digests as they are; then the tamperer makes SHA256SUMS anew; at last all
is made anew, footer and statement, which nothing but a signature shows.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import statements
from tbk_harness import archive, certificate, signature

Members = dict[str, bytes]
Draw = random.Random
RESULTS, SUMS = "results.jsonl", archive.SUMS


@dataclass(frozen=True)
class Bench:
    """What a tamperer has: an archive, another signed one, and a key that nobody knows."""

    plain: bytes
    signed: bytes
    other_signature: bytes
    own_key: Path
    source: certificate.Source


def _pack(members: Members) -> bytes:
    return archive.pack(list(members.items()))


def _summed(members: Members) -> bytes:
    """Returns the archive with the list of digests made anew."""
    others = [(name, data) for name, data in members.items() if name not in (SUMS, *_SIGNED)]
    return _pack({**members, SUMS: certificate.sums_of(others)})


_SIGNED = archive.SIGNATURES


# ------------------------------------------------------------------------------ one member's data


def _lines(data: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in data.splitlines()]


def _text(records: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def _verdict(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    records[draw.randrange(1, len(records) - 1)]["verdict"] = draw.choice(["not-shown", "fail"])
    return _text(records)


def _told(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    name = draw.choice(["checks", "duration_ns", "seed", "wall_ns"])
    records[draw.randrange(1, len(records) - 1)][name] = draw.randrange(10**7, 10**8)
    return _text(records)


def _header(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    member, value = draw.choice(
        [("seed", 7), ("tier", "quick"), ("isolation", "batch"), ("planned", 1), ("gate", "none"),
         ("started", "2026-01-01T00:00:00Z"), ("backend", {"path": "x", "digest": "e" * 64}),
         ("suite", {"version": "0.1.0", "digest": "d" * 64}), ("selection", ["memory"])]
    )  # fmt: skip
    records[0][member] = value
    return _text(records)


def _footer(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    member, value = draw.choice(
        [("verdict", "fail"), ("exit_code", 4), ("planned", 3), ("recorded", 9), ("health", "lost"),
         ("digest", "e" * 64), ("counts", {"pass": 1}), ("simulated", True)]
    )  # fmt: skip
    records[-1][member] = value
    return _text(records)


def _removed(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    del records[draw.randrange(len(records))]
    return _text(records)


def _doubled(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    at = draw.randrange(1, len(records) - 1)
    return _text([*records[:at], records[at], *records[at:]])


def _reordered(data: bytes, draw: Draw) -> bytes:
    records = _lines(data)
    one, other = draw.sample(range(1, len(records) - 1), 2)
    records[one], records[other] = records[other], records[one]
    return _text(records)


def _cut(data: bytes, draw: Draw) -> bytes:
    return data[: draw.randrange(len(data))]


def _one_byte(data: bytes, draw: Draw) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def _statement(data: bytes, draw: Draw) -> bytes:
    document = json.loads(data)
    kind = draw.randrange(6)
    if kind == 0:
        document["word"] = "conformant"
    elif kind == 1:
        document["clauses"][draw.randrange(len(document["clauses"]))]["state"] = "not shown"
    elif kind == 2:
        document["counts"]["proven"] = draw.randrange(500, 900)
    elif kind == 3:
        document["claim"]["version"] = f"1.{draw.randrange(10, 90)}"
    elif kind == 4:
        document["digests"]["c"]["backend_library"] = "e" * 64
    else:
        document["waivers"][0]["expires"] = f"20{draw.randrange(30, 99)}-01-01"
    return json.dumps(document).encode()


def _issued(data: bytes, draw: Draw) -> bytes:
    day = draw.choice([b"2026-02-27", b"2026-03-01", b"2031-01-01", b"yesterday"])
    return data.replace(b'"issued": "2026-03-02"', b'"issued": "' + day + b'"')


def _other_maker(data: bytes, draw: Draw) -> bytes:
    """Says that another tbk made it, so that its pages are not compared, and another word."""
    document = json.loads(data)
    document["made_with"]["digest"] = f"{draw.getrandbits(256):064x}"
    document["word"] = "conformant"
    return json.dumps(document).encode()


def _environment(data: bytes, draw: Draw) -> bytes:
    document = json.loads(data)
    document["layers"]["c"]["machine"]["cores"] = draw.randrange(3, 300)
    return json.dumps(document).encode()


def _words(data: bytes, draw: Draw) -> bytes:
    found, put = draw.choice([(b"conform", b"CONFORM"), (b"pass", b"PASS"), (b"until", b"UNTIL"),
                              (b"</p>", b"</p><p>all is well</p>")])  # fmt: skip
    found = found if found in data else b"</p>"
    return data.replace(found, put, 1)


def _waiver(data: bytes, draw: Draw) -> bytes:
    found, put = draw.choice(
        [(b"2026-06-01", b"2036-06-01"), (b"2026-06-01", b"2026-03-01"), (b"someone", b"nobody"),
         (b'versions = "1.*"', b'versions = "2.*"'), (b'kind = "fail"', b'kind = "hang"'),
         (b"[[waiver]]", b"[waiver]"), (b"[[waiver]]", b"\xff"), (b"too short", b"too long")]
    )  # fmt: skip
    return data.replace(found, put)


def _sum(data: bytes, draw: Draw) -> bytes:
    rows = data.splitlines(keepends=True)
    at = draw.randrange(len(rows))
    kind = draw.randrange(4)
    if kind == 0:
        rows[at] = b"e" * 64 + rows[at][64:]
    elif kind == 1:
        del rows[at]
    elif kind == 2:
        rows.append(b"e" * 64 + b"  nothing.txt\n")
    else:
        rows.reverse()
    return b"".join(rows)


Change = Callable[[bytes, Draw], bytes]
IN_MEMBERS: tuple[tuple[str, Change], ...] = (
    (RESULTS, _verdict), (RESULTS, _told), (RESULTS, _header), (RESULTS, _footer),
    (RESULTS, _removed), (RESULTS, _doubled), (RESULTS, _reordered), (RESULTS, _cut),
    (RESULTS, _one_byte), ("statement.json", _statement), ("statement.json", _issued),
    ("statement.json", _other_maker), ("environment.json", _environment), ("index.html", _words),
    ("report.html", _words), ("waivers.toml", _waiver), ("statement.json", _cut),
    ("report.html", _one_byte), ("environment.json", _cut),
)  # fmt: skip


# ------------------------------------------------------------------------------- the archive itself


def _truncated(data: bytes, draw: Draw) -> bytes:
    return data[: draw.randrange(len(data))]


def _appended(data: bytes, draw: Draw) -> bytes:
    return data + draw.randbytes(draw.choice([1, 22, 400]))


def _before(data: bytes, draw: Draw) -> bytes:
    return draw.randbytes(draw.choice([1, 30, 400])) + data


def _bit(data: bytes, draw: Draw) -> bytes:
    return _one_byte(data, draw)


def _zip(members: list[tuple[str, bytes]], how: int = zipfile.ZIP_STORED) -> bytes:
    """Returns what any program that writes zip files may write."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", how) as made:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in members:
            made.writestr(name, data)
    return out.getvalue()


def _twice(data: bytes, draw: Draw) -> bytes:
    members = archive.unpack(data)
    name, content = draw.choice(members)
    return _zip([*members, (name, content.replace(b"pass", b"fail"))])


def _extra(data: bytes, draw: Draw) -> bytes:
    names = ["readme.txt", "../../etc/cron.d/x", "/etc/passwd", "results.jsonl/..", "C:\\x.exe",
             "results-0.jsonl", "Statement.json", "statement.json\0.txt", "folder/"]  # fmt: skip
    return _zip([*archive.unpack(data), (draw.choice(names), b"x")])


def _missing(data: bytes, draw: Draw) -> bytes:
    members = archive.unpack(data)
    del members[draw.randrange(len(members))]
    return archive.pack(members)


def _moved(data: bytes, draw: Draw) -> bytes:
    members = archive.unpack(data)
    one, other = draw.sample(range(len(members)), 2)
    members[one], members[other] = members[other], members[one]
    return archive.pack(members)


def _bomb(data: bytes, draw: Draw) -> bytes:
    members = dict(archive.unpack(data))
    members[draw.choice(["report.html", RESULTS])] = b"0" * (draw.randrange(2, 9) << 20)
    return _zip(list(members.items()), zipfile.ZIP_DEFLATED)


def _lies_of_size(data: bytes, draw: Draw) -> bytes:
    """Says in the directory that a member is larger than the whole."""
    at = data.rindex(b"PK\1\2")
    size = struct.pack("<2L", *[draw.randrange(1 << 28, 1 << 31)] * 2)
    return data[: at + 20] + size + data[at + 28 :]


def _comment(data: bytes, draw: Draw) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as made:
        made.comment = draw.randbytes(8).hex().encode()
    return out.getvalue()


WHOLE: tuple[Change, ...] = (
    _truncated, _appended, _before, _bit, _twice, _extra, _missing, _moved, _bomb, _lies_of_size,
    _comment,
)  # fmt: skip


# ----------------------------------------------------------------------------- all of it made anew


def _forged(bench: Bench, draw: Draw) -> Members:
    """Returns a sound archive of a run that was better, or that was another's."""
    (name, data), *_ = bench.source.results
    records = _lines(data)
    for one in records[1:-1]:
        one["duration_ns"] = draw.randrange(1000, 9000)
        better = {"verdict": "pass", "evidence": "proven", "failures": 0}
        one.update(better if one["verdict"] == "fail" else {})
    records[0]["backend"] = {**dict(records[0]["backend"]), "digest": "f" * 64}  # type: ignore[call-overload]
    body = _text(records[:-1])
    counts: dict[str, int] = {}
    for one in records[1:-1]:
        counts[str(one["verdict"])] = counts.get(str(one["verdict"]), 0) + 1
    footer = {**records[-1], "digest": hashlib.sha256(body).hexdigest(), "counts": counts,
              "verdict": "pass", "exit_code": 0}  # fmt: skip
    made = certificate.Source(((name, body + _text([footer])),))
    return dict(statements.made(made))


def forged_unsigned(bench: Bench, draw: Draw) -> bytes:
    """Returns one that nothing shows to be forged, but that nobody has signed it."""
    return _pack(_forged(bench, draw))


def _old_signature(bench: Bench, draw: Draw) -> bytes:
    signed = dict(archive.unpack(bench.signed))
    return _pack({**_forged(bench, draw), signature.SSH: signed[signature.SSH]})


def _own_signature(bench: Bench, draw: Draw) -> bytes:
    return archive.pack(certificate.signed(list(_forged(bench, draw).items()), bench.own_key))


def _signature_of_another(bench: Bench, draw: Draw) -> bytes:
    del draw
    return _pack({**dict(archive.unpack(bench.signed)), signature.SSH: bench.other_signature})


def _broken_signature(bench: Bench, draw: Draw) -> bytes:
    """Changes what it says, not how it is written."""
    members = dict(archive.unpack(bench.signed))
    rows = members[signature.SSH].splitlines()
    at = draw.randrange(1, len(rows) - 2)
    place = draw.randrange(len(rows[at]))
    letter = draw.choice([one for one in b"ABCDEFGHabcdefgh" if one != rows[at][place]])
    rows[at] = rows[at][:place] + bytes([letter]) + rows[at][place + 1 :]
    return _pack({**members, signature.SSH: b"\n".join(rows) + b"\n"})


def _rewritten_signature(bench: Bench, draw: Draw) -> bytes:
    """Writes the same signature in another way, which ssh-keygen reads."""
    members = dict(archive.unpack(bench.signed))
    rows = members[signature.SSH].split(b"\n")
    at = draw.randrange(len(rows))
    rows[at] += draw.choice([b" ", b"\r", b"\n", b"\t"])
    return _pack({**members, signature.SSH: b"\n".join(rows)})


FORGED = (
    forged_unsigned, _old_signature, _own_signature, _signature_of_another, _broken_signature,
    _rewritten_signature,
)  # fmt: skip


# --------------------------------------------------------------------------------------- by seed


def kinds() -> list[str]:
    """Returns the names of all ways."""
    members = [f"{change.__name__} in {name}" for name, change in IN_MEMBERS]
    return [*members, *(f"{one}, digests anew" for one in members), f"_sum in {SUMS}",
            *(one.__name__ for one in WHOLE), *(one.__name__ for one in FORGED)]  # fmt: skip


def tampered(bench: Bench, seed: int) -> tuple[str, bytes, bool]:
    """Returns in which way the archive was changed, the archive, and whether it is one that claims
    to be signed. Each way has its turn, and its place is drawn."""
    draw = random.Random(seed)  # noqa: S311
    names = kinds()
    at = seed % len(names)
    kind, count = names[at], len(IN_MEMBERS)
    members = dict(archive.unpack(bench.plain))
    while True:  # what is drawn may be what stands there already
        if at <= 2 * count:
            name, change = (*IN_MEMBERS, *IN_MEMBERS, (SUMS, _sum))[at]
            changed = {**members, name: change(members[name], draw)}
            found = _summed(changed) if count <= at < 2 * count else _pack(changed)
        elif at <= 2 * count + len(WHOLE):
            found = WHOLE[at - 2 * count - 1](bench.plain, draw)
        else:
            found = FORGED[at - 2 * count - 1 - len(WHOLE)](bench, draw)
        if found not in (bench.plain, bench.signed):
            return kind, found, at > 2 * count + len(WHOLE)
