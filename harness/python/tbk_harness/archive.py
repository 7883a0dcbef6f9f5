# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""An archive whose every byte is accounted for: written one way only, and read as strictly.

Readers of zip files differ in what they make of bytes before, between and behind the members, and
of two entries for one file. So nothing of that kind is let through: an archive is read, written
again, and must be the same. That is why nothing is compressed: compressors differ.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Sequence

BEGIN = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file can name
MODE = 0o100644 << 16
UNIX = 3
MOST_BYTES = 128 << 20  # of the archive
MOST_MEMBERS = 1024
SUMS = "SHA256SUMS"
SIGNATURES = (f"{SUMS}.sig", f"{SUMS}.minisig")
FIXED = ("statement.json", "index.html", "report.html", "environment.json", "waivers.toml")
RESULTS = re.compile(r"results(?:-[1-9]\d{0,3})?\.jsonl")
_UNREADABLE = (
    zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, struct.error,
    OSError,
)  # fmt: skip
_END = struct.Struct("<4s4H2LH")

Member = tuple[str, bytes]


class ArchiveError(ValueError):
    """What makes it no archive of tbk, in one line."""


def pack(members: Sequence[Member]) -> bytes:
    """Returns the archive: the same bytes for the same members, everywhere."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members:
            made = zipfile.ZipInfo(name, BEGIN)
            made.create_system, made.external_attr = UNIX, MODE
            archive.writestr(made, data)
    return out.getvalue()


def order(names: Sequence[str]) -> list[str]:
    """Returns names in the one order in which they may stand: the results behind what is fixed,
    the digests behind them, a signature last."""
    results = [name for name in names if RESULTS.fullmatch(name)]
    results.sort(key=lambda name: (len(name), name))
    return [*FIXED, *results, SUMS, *(name for name in names if name in SIGNATURES)]


def unpack(data: bytes) -> list[Member]:
    """Returns the members. Raises ArchiveError; sizes are bounded before anything is read."""
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_names([info.orig_filename for info in infos])
            if sum(info.file_size for info in infos) > len(data):
                raise ArchiveError("its members would have more bytes than the archive")
            found = [(info.filename, _read(archive, info)) for info in infos]
    except ArchiveError:
        raise
    except _UNREADABLE as error:
        raise ArchiveError(f"it can't be read as a zip file: {error}") from error
    if pack(found) != data:
        raise ArchiveError("something stands in it beside its members, or is said of them")
    return found


def _check_end(data: bytes) -> None:
    """Raises where the directory is not said to be small, at the very end."""
    if len(data) > MOST_BYTES:
        raise ArchiveError(f"it has {len(data):,} bytes, and may have {MOST_BYTES:,}")
    if not data.startswith(b"PK\3\4"):
        raise ArchiveError("it does not begin as a zip file does")
    if len(data) < _END.size or not data[-_END.size :].startswith(b"PK\5\6"):
        raise ArchiveError("it does not end as a zip file does: it was cut short, or added to")
    _, _, _, _, count, size, _, _ = _END.unpack(data[-_END.size :])
    if count > MOST_MEMBERS or size > MOST_MEMBERS * 128:
        raise ArchiveError(f"its directory says that it has {count:,} members")


def _check_names(names: Sequence[str]) -> None:
    known = {*FIXED, SUMS, *SIGNATURES}
    for name in names:
        if name not in known and not RESULTS.fullmatch(name):
            raise ArchiveError(f"{name!r} is no member of a statement")
        if names.count(name) > 1:
            raise ArchiveError(f"{name} is there {names.count(name)} times")
    for name in (*FIXED, SUMS):
        if name not in names:
            raise ArchiveError(f"{name} is missing")
    if not any(RESULTS.fullmatch(name) for name in names):
        raise ArchiveError("results.jsonl is missing")
    if len(set(SIGNATURES) & set(names)) > 1:
        raise ArchiveError("it has two signatures")
    if list(names) != order(names):
        raise ArchiveError("its members are not in their order")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Returns a member. It is stored as it is, so it can't be larger than the archive."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ArchiveError(f"{info.filename} is compressed, which tbk does not do")
    if info.flag_bits or info.file_size > MOST_BYTES:
        raise ArchiveError(f"{info.filename} would have {info.file_size:,} bytes, or is encrypted")
    return archive.read(info)
