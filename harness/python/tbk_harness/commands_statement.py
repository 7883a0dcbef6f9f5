# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk certify, verify and badge: what others can check without having been there."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text
from tbk_reports.badge import Badge, badge_of_run, badge_of_statement
from tbk_reports.conformance import Conformance
from tbk_reports.given import read_given
from tbk_reports.model import EXIT_FINDINGS, EXIT_NOT_WRITTEN, EXIT_PASS, EXIT_USAGE
from tbk_reports.render import write_file
from tbk_reports.statement import NEVER_SHOWN
from tbk_reports.text import count_words, line

from tbk_harness import archive, certificate, claim, handed, outcome, places, signature
from tbk_harness.certificate import Checked, Source
from tbk_harness.command_line import Command
from tbk_harness.folder import RESULTS
from tbk_harness.near import hint
from tbk_harness.options import INPUT, PATH, RUN
from tbk_harness.verify import verify
from tbk_harness.waivers import WaiverError

FOLDER = Path("tbk-report")
MAGIC = b"PK"
SUFFIX = ".zip"

CERTIFY_EXAMPLES = """\
tbk certify -o acme.zip                            the last run's results, tbk-report/results.jsonl
tbk certify shard-*.jsonl -o acme.zip              all shards of a run, as one
tbk certify -o acme.zip --waivers waivers.toml --sign ~/.ssh/id_ed25519"""

VERIFY_EXAMPLES = """\
tbk verify acme.zip                                is it consistent, and what does it say
tbk verify acme.zip --signers allowed_signers      whose word it is, too
tbk verify acme.zip --conformant --library libacme.so
tbk verify tbk-report/results.jsonl                a result file: digest, counts, plan, schema"""


def _today() -> datetime.date:
    """Returns the day of issue: today, or that of SOURCE_DATE_EPOCH, for archives made again."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not stated:
        return outcome.today()
    try:
        return datetime.datetime.fromtimestamp(int(stated), datetime.timezone.utc).date()
    except (ValueError, OverflowError, OSError):
        outcome.stop(EXIT_USAGE, f"SOURCE_DATE_EPOCH is no time: {line(stated, 40)}")


def _results(paths: Sequence[Path]) -> list[Path]:
    """Returns the result files; of a run folder, the one that is in it."""
    return [path / RESULTS if path.is_dir() else path for path in paths or (FOLDER,)]


def _bytes(path: Path) -> bytes:
    try:
        return read_given(path)
    except OSError as error:
        outcome.stop(EXIT_USAGE, f"cannot read {outcome.reason(error)}")


def _profile(name: str) -> str:
    if name and name not in claim.profiles():
        there = ", ".join(sorted(claim.profiles()))
        meant = hint(name, claim.profiles()) or f"; there are {there}"
        outcome.stop(EXIT_USAGE, f"there is no profile {name!r}{meant}")
    return name


@click.command(name="certify", cls=Command, examples=CERTIFY_EXAMPLES)
@click.argument("results", nargs=-1, type=INPUT, metavar="[RESULTS|FOLDER]...")
@click.option("-o", "--output", type=PATH, required=True, help="The archive.")
@click.option("--waivers", type=INPUT, help="Known failures, in TOML.")
@click.option("--profile", default="", help="Claim a profile, not only what is declared.")
@click.option(
    "--sign", "key", type=INPUT, metavar="KEY", help="Sign with a key of ssh or minisign."
)
@click.option("--conformant", is_flag=True, help="End with 1 unless it says conformant.")
def certify_command(
    results: tuple[Path, ...],
    output: Path,
    waivers: Path | None,
    profile: str,
    key: Path | None,
    conformant: bool,
) -> None:
    """Write a conformance statement of RESULTS, and all that it is made from, as one archive."""
    places.free(output, places.ARCHIVE)
    paths = _results(results)
    for path in paths:
        outcome.read(path)
    named = zip(certificate.member_names(len(paths)), map(_bytes, paths), strict=True)
    source = Source(tuple(named), _bytes(waivers) if waivers else b"", _profile(profile))
    try:
        members, found = certificate.members_of(source, _today())
    except WaiverError as error:
        outcome.stop(EXIT_USAGE, str(error))
    if found.judged.verdict not in ("pass", "fail"):
        why = next(iter(found.judged.problems), "the run came to none")
        outcome.stop(found.judged.exit_code, f"there is no verdict to state: {why}")
    members = _signed(members, key)
    _write(output, archive.pack(members))
    _tell(found)
    signed = "signed" if key else "not signed: consistent at best, and not authentic"
    outcome.console().print(Text(f"{output} ({signed})"))
    raise SystemExit(_exit(found, conformant))


def _signed(members: list[archive.Member], key: Path | None) -> list[archive.Member]:
    if key is None:
        return members
    try:
        return certificate.signed(members, key)
    except signature.SignatureError as error:
        outcome.stop(EXIT_USAGE, str(error))


def _write(path: Path, data: bytes) -> None:
    if len(data) > archive.MOST_BYTES:
        outcome.stop(EXIT_NOT_WRITTEN, f"the archive would have {len(data):,} bytes")
    try:
        write_file(path, data)
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, f"the archive cannot be written: {outcome.reason(error)}")


def _exit(found: Conformance, conformant: bool) -> int:
    bad = found.judged.verdict != "pass" or (conformant and not found.good)
    return EXIT_FINDINGS if bad else EXIT_PASS


def _tell(found: Conformance) -> None:
    """Prints the sentence, why it is no better, and the clauses by state."""
    out = outcome.console()
    out.print(Text(f"{found.word.upper()} ({found.extent.words}): {found.sentence}", style="bold"))
    for word, why in found.reasons.items():
        for one in why[:6]:
            out.print(Text(f"  {word}: {line(one)}"))
    states = ", ".join(f"{count} {state}" for state, count in found.counts.items())
    out.print(Text(f"  clauses: {states}"))


# --------------------------------------------------------------------------------------- verify ---


@click.command(name="verify", cls=Command, examples=VERIFY_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=RUN)
@click.option(
    "--signers", type=INPUT, help="Who may have signed: an allowed_signers of ssh-keygen."
)
@click.option("--public-key", type=INPUT, help="Who must have signed: a public key of minisign.")
@click.option("--library", type=PATH, help="End with 1 unless it is about this library.")
@click.option("--conformant", is_flag=True, help="End with 1 unless it is conformant today.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify_command(
    files: tuple[Path, ...],
    signers: Path | None,
    public_key: Path | None,
    library: Path | None,
    conformant: bool,
    as_json: bool,
) -> None:
    """Recompute what FILES state: archives of tbk certify, or result files."""
    asked = signers or public_key or library or conformant or as_json
    for given in filter(None, (signers, public_key, library)):
        _bytes(given)
    bad, told = False, []
    for path in files:
        data = _bytes(path)
        if not data.startswith(MAGIC) and path.suffix != SUFFIX:
            if asked:
                outcome.stop(EXIT_USAGE, f"{path} is no archive of tbk certify")
            bad = _verify_results(path) or bad
            continue
        checked = certificate.check(data, outcome.today(), signers, public_key)
        _demand(checked, library, conformant)
        bad = bad or bool(checked.faults)
        name = handed.as_typed(str(path))
        if as_json:
            told.append(_as_json(name, checked))
        else:
            _tell_checked(name, checked)
    if as_json:
        print(json.dumps(told, indent=1))
    raise SystemExit(EXIT_FINDINGS if bad else EXIT_PASS)


def _verify_results(path: Path) -> bool:
    """Tells what is wrong with a result file, and whether something is."""
    out, name = outcome.console(), handed.as_typed(str(path))
    outcome.read(path)
    found = verify(path)
    for problem in found:
        out.print(Text(f"{name}: {line(problem)}", style="red"))
    if not found:
        out.print(Text(f"{name}: sound"))
    return bool(found)


def _demand(checked: Checked, library: Path | None, conformant: bool) -> None:
    """Adds to the problems what was asked for and is not so."""
    found = checked.found
    if found is None:
        return
    if library and (told := certificate.other_library(found, _bytes(library))):
        checked.refusals.append(handed.as_typed(f"{library} {told}"))
    if conformant and not found.good:
        checked.refusals.append(f"--conformant: it is {found.word!r}")


def _tell_checked(name: str, checked: Checked) -> None:
    out = outcome.console()
    for problem in checked.faults:
        out.print(Text(f"{name}: {line(problem, 600)}", style="red"))
    for note in checked.notes:
        out.print(Text(f"{name}: {line(note, 600)}"))
    if checked.problems:
        out.print(Text(f"{name}: inconsistent: nothing in it is to be relied on", style="bold red"))
        return
    out.print(Text(f"{name}: {_standing(checked)}"))
    if checked.refusals:
        out.print(Text(f"{name}: refused, for what stands above", style="bold red"))
    if checked.found is not None:
        _tell(checked.found)
        _tell_limits(checked.found)


def _standing(checked: Checked) -> str:
    """Returns in words what the digests and the signature amount to."""
    so = "its digests fit, and the records, judged again, make what it states"
    if checked.authentic and checked.signer:
        return f"authentic: signed by {checked.signer.words}; {so}"
    if checked.signer:
        return (
            f"consistent: {so}. It is signed with {checked.signer.words}; nobody was named whose "
            "key that is (--signers, --public-key), so it is not authentic"
        )
    if checked.signed:
        return f"consistent: {so}. It is signed; for what stands above, it is not authentic"
    return f"consistent: {so}. It is not signed, so it is not authentic: anybody could have made it"


def _tell_limits(found: Conformance) -> None:
    out = outcome.console()
    tests = count_words(len(found.judged.tests), "test")
    out.print(Text(f"It proves that these records of {tests}, judged by these rules, say so."))
    out.print(Text("It does not prove:"))
    for words in NEVER_SHOWN:
        out.print(Text(f"  - {words}"))


def _as_json(name: str, checked: Checked) -> dict[str, object]:
    found = checked.found
    return {
        "archive": name,
        "standing": checked.word,
        "signed": checked.signed,
        "signer": checked.signer.words if checked.signer else None,
        "issued": checked.issued or None,
        "word": found.word if found else None,
        "conformant": bool(found and found.good and not checked.faults),
        "problems": checked.problems,
        "refusals": checked.refusals,
        "notes": checked.notes,
        "counts": found.counts if found else {},
    }


# ---------------------------------------------------------------------------------------- badge ---


@click.command(
    name="badge",
    cls=Command,
    examples="""\
tbk badge                                          of the last run, into tbk-report
tbk badge acme.zip -o public                       of a statement""",
)
@click.argument("source", type=INPUT, default=FOLDER, metavar="[RESULTS|FOLDER|ARCHIVE]")
@click.option("-o", "--output", type=PATH, help="A folder; that of the results if none is named.")
def badge_command(source: Path, output: Path | None) -> None:
    """Write badge.svg, and badge.json for shields.io, from the verdict made anew."""
    path = _results([source])[0]
    if output is None and handed.is_copy(path):
        outcome.stop(EXIT_USAGE, f"{path} is a pipe: where do the badges go? -o FOLDER")
    folder = output or path.parent
    badge = _badge(path)
    outcome.prepare(folder)
    write_file(folder / "badge.svg", badge.svg())
    write_file(folder / "badge.json", badge.json())
    outcome.console().print(Text(f"{badge.message}: {folder / 'badge.svg'}"))
    raise SystemExit(EXIT_PASS)


def _badge(path: Path) -> Badge:
    data = _bytes(path)
    if not data.startswith(MAGIC):
        return badge_of_run(outcome.verdict_on(outcome.read(path), outcome.known_from(None)))
    checked = certificate.check(data, outcome.today())
    if checked.faults or checked.found is None:
        outcome.stop(EXIT_FINDINGS, f"{path}: {line(checked.faults[0])}")
    return badge_of_statement(checked.found)
