# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A signature is written in one way: what its program also reads is no way around that."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from tbk_harness import armour, signature

GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493


@pytest.fixture(scope="module")
def by_ssh(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    key = tmp_path_factory.mktemp("ssh") / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(command, check=True)
    return signature.sign(b"digests\n", key)[1]


@pytest.fixture(scope="module")
def by_minisign(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("minisign")
    command = ["minisign", "-G", "-W", "-p", f"{folder}/a.pub", "-s", f"{folder}/a.key"]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return signature.sign(b"digests\n", folder / "a.key")[1]


def _armoured(data: bytes) -> bytes:
    text = base64.b64encode(data)
    rows = [text[at : at + 70] for at in range(0, len(text), 70)]
    ends = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----\n"
    return b"\n".join([ends[0], *rows, ends[1]])


OTHERWISE = {
    "empty line": lambda text: text + b"\n",
    "no last line": lambda text: text[:-1],
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "words before": lambda text: b"words\n" + text,
    "blank": lambda text: text.replace(b"\n", b" \n", 2),
    "one line less": lambda text: text.replace(b"\n", b"", 2).replace(b"-----U", b"-----\nU"),
}


@pytest.mark.parametrize("how", OTHERWISE)
def test_a_signature_has_one_form(how: str, by_ssh: bytes, by_minisign: bytes) -> None:
    assert armour.is_ssh(by_ssh)
    assert armour.is_minisign(by_minisign)
    assert not armour.is_ssh(OTHERWISE[how](by_ssh))
    assert not armour.is_minisign(OTHERWISE[how](by_minisign))


def test_a_number_that_does_as_well_is_another_signature(by_ssh: bytes, tmp_path: Path) -> None:
    data = base64.b64decode(b"".join(by_ssh.split(b"\n")[1:-2]))
    assert _armoured(data) == by_ssh
    more = int.from_bytes(data[-32:], "little") + GROUP_ORDER
    other = _armoured(data[:-32] + more.to_bytes(32, "little"))
    assert not armour.is_ssh(other)
    with pytest.raises(signature.ForgedError, match="not written as tbk certify writes it"):
        signature.check(b"digests\n", signature.SSH, other, None, None)


@pytest.mark.parametrize("text", [b"", b"\n", b"-----BEGIN SSH SIGNATURE-----\n", b"\xff" * 99])
def test_what_is_no_signature_is_written_in_no_form(text: bytes) -> None:
    assert not armour.is_ssh(text)
    assert not armour.is_minisign(text)


def test_the_comment_that_nobody_signed_is_always_the_same(by_minisign: bytes) -> None:
    assert not armour.is_minisign(
        by_minisign.replace(b"untrusted comment: ", b"untrusted comment: of acme, ", 1)
    )
