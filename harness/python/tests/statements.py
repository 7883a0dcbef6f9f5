# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs that could be certified: a record for each clause that has tests, in the suite's words."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path
from typing import Any

import synthetic
import tbk_contracts
from tbk_harness import __version__, archive, certificate, claim
from tbk_harness.enrich import layer_digest

DAY = datetime.date(2026, 3, 2)
WAIVER = """\
[[waiver]]
clause = "{clause}"
owner = "someone@example.com"
reason = "the queue is one word too short"
link = "https://example.com/1"
versions = "1.*"
kind = "fail"
expires = {expires}
"""


def records() -> list[synthetic.Record]:
    """Returns a pass for each clause of the C layer that has tests."""
    among = tbk_contracts.at_layer("c", claim.all_clauses())
    return [
        synthetic.case(
            at, id=f"{one.area}/holds_{one.id}", suite=one.area, clause=one.id, level=one.level,
            profile=one.profile, clause_text=one.text,
        )
        for at, one in enumerate(one for one in among if one.kind == "checked")
    ]  # fmt: skip


def head(planned: int, **changes: Any) -> synthetic.Record:
    made = synthetic.header(planned, layer="c", tier="thorough", **changes)
    return made | {
        "suite": {"version": __version__, "digest": "a" * 64},
        "spec": {"digest": layer_digest("c"), "clauses": 300},
    }


def write(path: Path, tests: list[synthetic.Record] | None = None, **changes: Any) -> Path:
    tests = records() if tests is None else tests
    return synthetic.write(path, tests, {**head(len(tests)), **changes})


def source(path: Path, waivers: str = "", profile: str = "") -> certificate.Source:
    results = (("results.jsonl", path.read_bytes()),)
    return certificate.Source(results, waivers.encode(), profile)


def made(
    one: certificate.Source, key: Path | None = None, day: datetime.date = DAY
) -> list[archive.Member]:
    """Returns the members of an archive."""
    members, _ = certificate.members_of(one, day)
    return certificate.signed(members, key) if key else members


def key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True
    )
    return path


def signers(folder: Path, own: Path, *options: str) -> Path:
    """Returns a file of allowed signers that knows one key."""
    kind, words, *_ = own.with_suffix(".pub").read_text().split()
    path = folder / "signers"
    path.write_text(f"{' '.join(['alice@example.com', *options])} {kind} {words}\n")
    return path
