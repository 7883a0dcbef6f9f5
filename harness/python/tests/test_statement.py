# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Statements: what they say of a run, and that no change to an archive goes unnamed.

The same 200 changes each time; TBK_FUZZ_SECONDS=600 goes on for longer.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import statements
import synthetic
import tampering
import tbk_contracts
from statements import DAY
from tbk_contracts.profiles import Profile
from tbk_harness import archive, certificate, claim, signature
from tbk_harness.certificate import Checked, check
from tbk_reports.conformance import Conformance

TAMPERED = 200
SECONDS = float(os.environ.get("TBK_FUZZ_SECONDS", "0"))
FEW = 24  # clauses of a statement that is checked 200 times


def _conformance(path: Path, waivers: str = "", profile: str = "") -> Conformance:
    return statements.source(path, waivers, profile).conformance(DAY)


def _changed(at: int, **changes: object) -> list[synthetic.Record]:
    records = statements.records()
    records[at] |= changes
    return records


FAIL = {"verdict": "fail", "failures": 1, "seen": "0 is 1", "evidence": None}


# -------------------------------------------------------------------------- what a run amounts to


def test_a_complete_thorough_run_is_conformant(tmp_path: Path) -> None:
    found = _conformance(statements.write(tmp_path / "r.jsonl"))
    assert (found.word, found.reasons, found.good) == ("conformant", {}, True)
    assert set(found.counts) == {"proven", "not testable"}
    untestable = [row for row in found.rows if row.state == "not testable"]
    assert all(row.why for row in untestable)
    assert len(found.rows) == len(tbk_contracts.at_layer("c", tbk_contracts.clauses()))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"tier": "quick"}, "quick only"),
        ({"selection": ["memory"]}, "partial"),
        ({"shard": "1/2"}, "partial"),
        ({"devices": [{"name": "x", "simulated": True}]}, "simulated"),
        ({"spec": {"digest": "b" * 64}}, "suite not known"),
        ({"suite": {"version": "9.0", "digest": "a" * 64}, "spec": {"digest": "b" * 64}},
         "suite not known"),
    ],
)  # fmt: skip
def test_what_is_less_is_never_conformant(
    tmp_path: Path, changes: synthetic.Record, word: str
) -> None:
    found = _conformance(statements.write(tmp_path / "r.jsonl", None, **changes))
    assert (found.word, found.good) == (word, False)
    assert "conforms" not in found.sentence
    assert found.judged.verdict == "pass"


def test_all_that_is_less_is_said(tmp_path: Path) -> None:
    changes = {"tier": "quick", "shard": "1/2", "devices": [{"name": "x", "simulated": True}]}
    found = _conformance(statements.write(tmp_path / "r.jsonl", None, **changes))
    assert list(found.reasons) == ["partial", "simulated", "quick only"]


def test_a_suite_without_tests_of_a_clause_is_not_known(tmp_path: Path) -> None:
    records = statements.records()
    del records[7]
    found = _conformance(statements.write(tmp_path / "r.jsonl", records))
    assert found.word == "suite not known"
    assert statements.records()[7]["clause"] in found.reasons["suite not known"][0]


def test_a_sentence_that_is_not_the_suites_is_found(tmp_path: Path) -> None:
    records = _changed(3, clause_text="anything goes.")
    assert _conformance(statements.write(tmp_path / "r.jsonl", records)).word == "suite not known"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        (FAIL, "violated"),
        ({"verdict": "hang"}, "violated"),
        ({"verdict": "not-reached"}, "violated"),
        ({"verdict": "warning"}, "recommendation not met"),
        ({"evidence": "trivial", "evidence_reason": "one queue"}, "trivially true"),
        ({"verdict": "not-shown", "evidence_reason": "no gate"}, "not shown"),
        ({"verdict": "unsupported", "needs_missing": "peer"}, "not tested"),
        ({"verdict": "left-out"}, "not tested"),
    ],
)
def test_what_is_said_of_a_clause(tmp_path: Path, changes: synthetic.Record, state: str) -> None:
    records = _changed(5, **changes)
    found = _conformance(statements.write(tmp_path / "r.jsonl", records))
    (row,) = [row for row in found.rows if row.id == records[5]["clause"]]
    assert row.state == state
    assert row.why
    assert found.good == (state not in ("violated",) and records[5]["verdict"] != "left-out")


def test_a_clause_of_which_a_part_was_run_is_proven_in_part(tmp_path: Path) -> None:
    records = statements.records()
    more = {"id": "memory/more", "verdict": "unsupported", "needs_missing": "peer"}
    records.append(records[5] | more)
    found = _conformance(statements.write(tmp_path / "r.jsonl", records))
    (row,) = [row for row in found.rows if row.id == records[5]["clause"]]
    assert (row.state, row.tests) == ("proven in part", 2)


def test_a_waiver_is_said_with_its_end_and_ends(tmp_path: Path) -> None:
    records = _changed(5, **FAIL)
    path = statements.write(tmp_path / "r.jsonl", records)
    clause = records[5]["clause"]
    waiver = statements.WAIVER.format(clause=clause, expires="2026-06-01")
    found = _conformance(path, waiver)
    assert (found.word, found.good) == ("conformant with waivers", True)
    (row,) = [row for row in found.rows if row.id == clause]
    assert (row.state, row.until) == ("waived", "2026-06-01")
    late = statements.source(path, waiver).conformance(datetime.date(2026, 6, 2))
    assert (late.word, late.good) == ("not conformant", False)


def test_a_profile_asks_for_clauses_and_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmet = _changed(0, verdict="unsupported", needs_missing="peer")
    clauses = tuple(str(one["clause"]) for one in unmet[:3])
    small = Profile("small", "a few", clauses, (), ("float32",))
    wide = Profile("wide", "an operator", clauses[1:], ("add",), ("float32",))
    monkeypatch.setattr(claim, "profiles", lambda: {"small": small, "wide": wide})
    path = statements.write(tmp_path / "r.jsonl", unmet)
    assert _conformance(path).word == "conformant"
    found = _conformance(path, profile="small")
    assert (found.word, found.unmet) == ("profile not shown", clauses[:1])
    whole = statements.write(tmp_path / "whole.jsonl")
    assert _conformance(whole, profile="small").word == "conformant"
    found = _conformance(whole, profile="wide")
    assert found.reasons["profile not shown"] == (
        "of its operators 0 are on the device, and 1 not tested",
    )


# -------------------------------------------------------------------------------------- archives


def test_archives_are_reproducible_and_sound(tmp_path: Path) -> None:
    path = statements.write(tmp_path / "r.jsonl")
    data = archive.pack(statements.made(statements.source(path)))
    assert data == archive.pack(statements.made(statements.source(path)))
    found = check(data, DAY)
    assert (found.faults, found.word, found.authentic) == ([], "consistent", False)
    assert [name for name, _ in archive.unpack(data)] == [
        "statement.json", "index.html", "report.html", "environment.json", "waivers.toml",
        "results.jsonl", "SHA256SUMS",
    ]  # fmt: skip
    stated = json.loads(dict(archive.unpack(data))["statement.json"])
    assert (stated["word"], stated["claim"]["tier"]) == ("conformant", "thorough")
    assert stated["digests"]["c"]["backend_library"] == "c" * 64


def test_shards_are_one_statement(tmp_path: Path) -> None:
    records, parts = statements.records(), []
    for at in range(2):
        part = records[at::2]
        head = statements.head(len(part), shard=f"{at + 1}/2")
        path = synthetic.write(tmp_path / f"{at}.jsonl", part, head)
        parts.append((f"results-{at + 1}.jsonl", path.read_bytes()))
    data = archive.pack(statements.made(certificate.Source(parts)))
    found = check(data, DAY)
    assert found.faults == []
    assert found.found is not None
    assert found.found.word == "conformant"
    lone = archive.pack(statements.made(certificate.Source([("results.jsonl", parts[0][1])])))
    alone = check(lone, DAY).found
    assert alone is not None
    assert not alone.good


def test_what_a_waiver_covered_on_the_day_of_issue_it_may_not_cover_today(tmp_path: Path) -> None:
    records = _changed(5, **FAIL)
    path = statements.write(tmp_path / "r.jsonl", records)
    waiver = statements.WAIVER.format(clause=records[5]["clause"], expires="2026-06-01")
    data = archive.pack(statements.made(statements.source(path, waiver)))
    assert check(data, datetime.date(2026, 6, 1)).faults == []
    late = check(data, datetime.date(2026, 6, 2))
    assert late.problems == []
    assert "'not conformant' today" in late.refusals[0]


def test_another_tbk_compares_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = statements.write(tmp_path / "r.jsonl")
    data = archive.pack(statements.made(statements.source(path)))
    monkeypatch.setattr(certificate, "own_digest", lambda: "0" * 64)
    found = check(data, DAY)
    assert (found.faults, len(found.notes)) == ([], 1)
    assert "pages were not compared" in found.notes[0]


def test_a_member_that_claims_to_be_huge_is_not_read() -> None:
    names = [*archive.FIXED, "results.jsonl", archive.SUMS]
    data = bytearray(archive.pack([(name, b"x") for name in names]))
    at = data.rindex(b"PK\1\2")
    data[at + 20 : at + 28] = (2**31 - 1).to_bytes(4, "little") * 2
    with pytest.raises(archive.ArchiveError, match="more bytes than the archive"):
        archive.unpack(bytes(data))


# ------------------------------------------------------------------------------------- signatures


def test_only_a_signature_of_somebody_known_is_authentic(tmp_path: Path) -> None:
    key, other = statements.key(tmp_path, "alice"), statements.key(tmp_path, "mallory")
    source = statements.source(statements.write(tmp_path / "r.jsonl"))
    data = archive.pack(statements.made(source, key))
    unknown = check(data, DAY)
    assert (unknown.faults, unknown.word) == ([], "consistent")
    assert unknown.signer is not None
    assert "SHA256:" in unknown.signer.words
    known = check(data, DAY, statements.signers(tmp_path, key))
    assert (known.faults, known.word) == ([], "authentic")
    strange = check(data, DAY, statements.signers(tmp_path, other))
    assert (strange.problems, strange.authentic) == ([], False)
    assert "of nobody in" in strange.refusals[0]
    elsewhere = check(data, DAY, statements.signers(tmp_path, key, 'namespaces="git"'))
    assert elsewhere.refusals
    assert not elsewhere.authentic
    kind = check(data, DAY, public_key=key.with_suffix(".pub"))
    assert "for --signers" in kind.refusals[0]


def test_a_key_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key\n")
    with pytest.raises(signature.SignatureError, match="does not sign"):
        signature.sign(b"x", tmp_path / "key")


def test_minisign_signs_too(tmp_path: Path) -> None:
    assert shutil.which("minisign"), "ci/common.sh installs it"
    public, key = tmp_path / "a.pub", tmp_path / "a.key"
    subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", key], check=True, timeout=60,
                   capture_output=True)  # fmt: skip
    source = statements.source(statements.write(tmp_path / "r.jsonl"))
    members = statements.made(source, key)
    found = check(archive.pack(members), DAY, public_key=public)
    assert (found.faults, found.word) == ([], "authentic")
    assert check(archive.pack(members), DAY).word == "consistent"
    told = dict(members)
    signed = told[signature.MINISIGN].replace(b"\ntrusted comment: ", b"\ntrusted comment: x")
    forged = archive.pack(list({**told, signature.MINISIGN: signed}.items()))
    assert "does not hold" in check(forged, DAY, public_key=public).problems[0]


# -------------------------------------------------------------------------------------- tampering


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tampering.Bench:
    few = [one for one in tbk_contracts.at_layer("c", tbk_contracts.clauses())
           if one.kind == "checked"][:FEW]  # fmt: skip
    monkeypatch.setattr(claim, "all_clauses", lambda: few)
    records = _changed(5, **FAIL)
    waiver = statements.WAIVER.format(clause=records[5]["clause"], expires="2026-06-01")
    source = statements.source(statements.write(tmp_path / "r.jsonl", records), waiver)
    key = statements.key(tmp_path, "alice")
    statements.signers(tmp_path, key)
    other = statements.made(statements.source(statements.write(tmp_path / "o.jsonl")), key)
    return tampering.Bench(
        archive.pack(statements.made(source)), archive.pack(statements.made(source, key)),
        dict(other)[signature.SSH], statements.key(tmp_path, "mallory"), source,
    )  # fmt: skip


@pytest.mark.night
def test_each_of_200_archives_is_named(bench: tampering.Bench, tmp_path: Path) -> None:
    signers = tmp_path / "signers"
    sound = check(bench.plain, DAY), check(bench.signed, DAY, signers)
    assert [one.faults for one in sound] == [[], []]
    assert [one.found.word for one in sound if one.found] == ["conformant with waivers"] * 2
    assert len(tampering.kinds()) * 3 < TAMPERED
    unnamed, until = [], time.monotonic() + SECONDS
    for seed in itertools.count():
        if seed >= TAMPERED and time.monotonic() >= until:
            break
        kind, data, claims = tampering.tampered(bench, seed)
        found: Checked = check(data, DAY, signers if claims else None)
        if not found.faults or not all(found.faults) or found.authentic:
            unnamed.append((seed, kind))
    assert unnamed == []


def test_what_is_made_anew_throughout_is_consistent_and_only_a_signature_shows_it(
    bench: tampering.Bench, tmp_path: Path
) -> None:
    seed = tampering.kinds().index("forged_unsigned")
    _, data, _ = tampering.tampered(bench, seed)
    blind = check(data, DAY)
    assert (blind.faults, blind.word, blind.authentic) == ([], "consistent", False)
    assert check(data, DAY, tmp_path / "signers").refusals == [
        "it is not signed, and a signature was asked for"
    ]
