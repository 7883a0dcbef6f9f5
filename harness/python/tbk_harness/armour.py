# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The one way in which a signature is written. ssh-keygen and minisign also read others, which
would be bytes of an archive that anybody can change."""

from __future__ import annotations

import base64
import binascii

COMMENT = "signature from minisign secret key"  # of no meaning, and not signed
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_WIDTH = 70  # columns of base64, as ssh-keygen writes it
_GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493  # of Ed25519
_PREAMBLE = b"SSHSIG\0\0\0\1"
_BEFORE_SIGNATURE = 4  # fields: key, namespace, reserved, hash


def is_ssh(signature: bytes) -> bool:
    """Returns whether a signature of ssh-keygen is written as ssh-keygen does."""
    rows = signature.split(b"\n")
    data = _decoded(b"".join(rows[1:-2]))
    encoded = base64.b64encode(data)
    body = [encoded[at : at + _WIDTH] for at in range(0, len(encoded), _WIDTH)]
    return rows == [_BEGIN, *body, _END, b""] and _is_least(data)


def is_minisign(signature: bytes) -> bool:
    """Returns whether a signature of minisign is written as tbk certify lets it."""
    rows = signature.split(b"\n")
    if len(rows) != 5 or rows[0] != f"untrusted comment: {COMMENT}".encode() or rows[4]:
        return False
    return all(row and base64.b64encode(_decoded(row)) == row for row in (rows[1], rows[3]))


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _is_least(data: bytes) -> bool:
    """Returns whether the number in a signature by Ed25519 is the least of those that do as well:
    OpenSSH also takes it with the group's order added."""
    rest = data.removeprefix(_PREAMBLE)
    for _ in range(_BEFORE_SIGNATURE):
        _, rest = _field(rest)
    kind, value = _field(_field(rest)[0])
    if b"ed25519" not in kind:
        return True
    return int.from_bytes(_field(value)[0][32:], "little") < _GROUP_ORDER


def _field(data: bytes) -> tuple[bytes, bytes]:
    """Returns the first field of SSH's encoding, and what stands behind it."""
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]
