# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Signatures by ssh-keygen or minisign, whichever the key is for; nothing is signed here."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tbk_reports.text import line

from tbk_harness import armour
from tbk_harness.archive import SIGNATURES, SUMS

NAMESPACE = "tbk"
SSH, MINISIGN = SIGNATURES
PATIENCE_S = 120.0  # a key may ask for its passphrase
_KEY = re.compile(r"key (SHA256:\S+)")


class SignatureError(ValueError):
    """What is wrong with a key, a program or a signature, in one line."""


class ForgedError(SignatureError):
    """A signature that is not one of what it stands beside."""


@dataclass(frozen=True)
class Signer:
    """Who signed. `vouched`: by a list or a key that whoever checks has given."""

    words: str
    vouched: bool


def _run(command: Sequence[str], stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Raises SignatureError where the program is not there or does not end."""
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False
        )
    except FileNotFoundError as error:
        raise SignatureError(f"{command[0]} is not there, and the key is one of its") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SignatureError(f"{command[0]}: {line(str(error), 200)}") from error


def _said(ended: subprocess.CompletedProcess[bytes]) -> str:
    told = (ended.stderr or b"") + (ended.stdout or b"")
    return line(told.decode("utf-8", "replace"), 300) or f"it ended with {ended.returncode}"


def _is_minisign(key: Path) -> bool:
    try:
        return b"minisign" in key.read_bytes()[:200].partition(b"\n")[0]
    except OSError as error:
        raise SignatureError(f"{key}: {error.strerror}") from error


def sign(sums: bytes, key: Path) -> tuple[str, bytes]:
    """Returns the name of the member and the signature over the list of digests. For ssh, `key` is
    a private key, or the public one of a key that an agent holds. Raises SignatureError."""
    with tempfile.TemporaryDirectory(prefix="tbk-sign-") as folder:
        target = Path(folder) / SUMS
        target.write_bytes(sums)
        if _is_minisign(key):
            name = MINISIGN
            ended = _run(
                ["minisign", "-S", "-c", armour.COMMENT, "-s", str(key), "-m", str(target)]
            )
        else:
            name = SSH
            ended = _run(["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(target)])
        made = Path(folder) / name
        if ended.returncode or not made.is_file():
            raise SignatureError(f"{key} does not sign: {_said(ended)}")
        return name, made.read_bytes()


def check(
    sums: bytes, name: str, signature: bytes, signers: Path | None, public_key: Path | None
) -> Signer:
    """Returns who signed. `signers` is a file of allowed signers, as ssh-keygen reads it, and
    `public_key` one of minisign. Raises ForgedError where the signature does not hold, and
    SignatureError where it is of nobody in them or can't be checked."""
    if not (armour.is_minisign if name == MINISIGN else armour.is_ssh)(signature):
        raise ForgedError(f"{name} is not written as tbk certify writes it")
    with tempfile.TemporaryDirectory(prefix="tbk-verify-") as folder:
        path = Path(folder) / name
        path.write_bytes(signature)
        if name == MINISIGN:
            return _check_minisign(sums, path, public_key)
        return _check_ssh(sums, path, signers)


def _check_ssh(sums: bytes, path: Path, signers: Path | None) -> Signer:
    about = ["-n", NAMESPACE, "-s", str(path)]
    ended = _run(["ssh-keygen", "-Y", "check-novalidate", *about], sums)
    if ended.returncode:
        raise ForgedError(f"the signature does not hold: {_said(ended)}")
    found = _KEY.search(_said(ended))
    key = f"the key {found[1]}" if found else "a key"
    if signers is None:
        return Signer(key, vouched=False)
    ended = _run(["ssh-keygen", "-Y", "find-principals", "-s", str(path), "-f", str(signers)])
    names = ended.stdout.decode("utf-8", "replace").splitlines() if not ended.returncode else []
    for principal in names:
        who = ["-I", principal, "-f", str(signers)]
        if not _run(["ssh-keygen", "-Y", "verify", *who, *about], sums).returncode:
            return Signer(f"{line(principal, 120)}, with {key}", vouched=True)
    raise SignatureError(f"it is signed with {key}, which is of nobody in {signers}")


def _check_minisign(sums: bytes, path: Path, public_key: Path | None) -> Signer:
    if public_key is None:
        return Signer("a key of minisign, which is not checked without --public-key", vouched=False)
    target = path.with_name(SUMS)
    target.write_bytes(sums)
    command = ["minisign", "-V", "-Q", "-p", str(public_key), "-m", str(target), "-x", str(path)]
    ended = _run(command)
    if ended.returncode:
        raise ForgedError(f"the signature does not hold: {_said(ended)}")
    return Signer(f"the key in {public_key}: {_said(ended)}", vouched=True)
