# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk certify, verify and badge: from results to an archive, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import statements
import synthetic
from invoke import Tbk


def test_from_results_to_a_checked_archive(tbk: Tbk, tmp_path: Path) -> None:
    (tmp_path / "tbk-report").mkdir()
    statements.write(tmp_path / "tbk-report" / "results.jsonl")
    key = statements.key(tmp_path, "alice")
    statements.signers(tmp_path, key)
    made = tbk("certify", "-o", "a.zip", "--sign", "alice")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("CONFORMANT (thorough): acme 1.4.2 conforms in the C layer")
    found = tbk("verify", "a.zip", "--signers", "signers", "--conformant")
    assert found.returncode == 0
    assert "authentic: signed by alice@example.com" in found.stdout
    assert "It does not prove:" in found.stdout
    statements.signers(tmp_path, statements.key(tmp_path, "mallory"))
    strange = tbk("verify", "a.zip", "--signers", "signers")
    assert strange.returncode == 1
    assert "It is signed; for what stands above, it is not authentic" in strange.stdout
    (tmp_path / "lib.so").write_bytes(b"another library")
    other = tbk("verify", "a.zip", "--library", "lib.so", "--json")
    assert other.returncode == 1
    (told,) = json.loads(other.stdout)
    assert (told["standing"], told["word"], told["conformant"]) == (
        "consistent", "conformant", False,
    )  # fmt: skip
    assert (told["signed"], told["signer"] is None) == (True, False)
    assert "the run was of cccc" in told["refusals"][0]
    badge = tbk("badge", "a.zip", "-o", "public")
    assert badge.returncode == 0
    assert json.loads((tmp_path / "public" / "badge.json").read_text())["message"] == (
        "conformant, C layer"
    )
    bent = bytearray((tmp_path / "a.zip").read_bytes())
    bent[len(bent) // 2] ^= 1
    (tmp_path / "bent.zip").write_bytes(bent)
    found = tbk("verify", "bent.zip")
    assert found.returncode == 1
    assert "inconsistent: nothing in it is to be relied on" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["certify", "none.jsonl", "-o", "a.zip"], 2, "cannot read none.jsonl"),
        (["certify", "r.jsonl", "-o", "a.zip", "--profile", "trainin"], 2, "did you mean training"),
        (["certify", "r.jsonl", "-o", "a.zip", "--sign", "r.jsonl"], 2, "does not sign"),
        (["certify", "r.jsonl", "-o", "a.zip", "--waivers", "r.jsonl"], 2, "waivers.toml"),
        (["certify", "r.jsonl", "-o", "no/a.zip"], 8, "the archive cannot be written"),
        (["certify", "torn.jsonl", "-o", "a.zip"], 7, "there is no verdict to state"),
        (["verify", "r.jsonl", "--conformant"], 2, "is no archive"),
        (["verify", "none.zip"], 2, "cannot read none.zip"),
        (["badge", "none.jsonl"], 2, "cannot read none.jsonl"),
    ],
)
def test_bad_input_gets_one_line(
    tbk: Tbk, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    statements.write(tmp_path / "r.jsonl")
    synthetic.write(tmp_path / "torn.jsonl", statements.records(), end=False)
    ended = tbk(*arguments)
    assert ended.returncode == code
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "a.zip").exists()
