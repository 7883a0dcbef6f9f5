# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk check and tbk probe: any device that PyTorch knows."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text
from tbk_reports.model import (
    EXIT_BAD_LIBRARY,
    EXIT_FINDINGS,
    EXIT_NO_DEVICE,
    EXIT_NOT_WRITTEN,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    EXIT_USAGE,
    ResultFile,
    Test,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import child, locate, outcome, places, progress, torch_names
from tbk_harness.command_line import VERDICT, Command, option
from tbk_harness.near import hint
from tbk_harness.options import (
    GATE,
    INPUT,
    PATH,
    RUN,
    Subject,
    device_options,
    running_options,
    verdict_options,
)
from tbk_harness.progress_row import IMPORTING, PROBING

if TYPE_CHECKING:
    from tbk_harness.capabilities import Declared

NO_DEVICE = 77
# Where PyTorch came without its headers it is asked, which takes seconds.
_PARSES = (
    "import re, sys, torch\n"
    "try: torch.device(sys.argv[1])\n"
    "except RuntimeError as error:\n"
    "  known = re.search('one of (.*?) device type', str(error))\n"
    "  print(known[1].replace(',', ' ') if known else '')\n"
    f"  sys.exit({NO_DEVICE})"
)
_MEANINGS = (
    "import json; from tbk_contracts.torch.capability import WORDS; "
    "print(json.dumps({word: meaning for word, (meaning, _) in WORDS.items()}))"
)


def need_pytorch() -> None:
    """Stops where it is not installed for this interpreter."""
    if importlib.util.find_spec("torch") is None:
        outcome.stop(EXIT_BAD_LIBRARY, f"PyTorch is not installed for {sys.executable}")


def known_device(name: str, imports: tuple[str, ...]) -> None:
    """Stops where PyTorch has no such device and nothing is there that would bring it, or where a
    module to import is not there. What a module brings, tbk-run finds out."""
    if "/" in name or name.endswith(".so"):
        told = f"{name} is no device of PyTorch; tbk run {name} judges a library"
        outcome.stop(EXIT_NO_DEVICE, told)
    _known_modules(imports)
    own = torch_names.device_types()
    type_name = name.partition(":")[0]
    if type_name in own or imports or importlib.metadata.entry_points(group="torch.backends"):
        return
    if "torch" in sys.modules or not own:  # something in this environment imports it at the start
        ended = subprocess.run(
            [sys.executable, "-c", _PARSES, name], capture_output=True, text=True, check=False
        )
        if ended.returncode != NO_DEVICE:
            return  # it is there, or PyTorch itself is at fault, of which the run has more to say
        own = tuple(ended.stdout.split())
    outcome.stop(EXIT_NO_DEVICE, unknown_device(name, own))


def unknown_device(name: str, known: Sequence[str]) -> str:
    """Returns what is said of a device that nobody has registered."""
    meant = hint(name, known)
    told = f"PyTorch knows no device {name!r}{meant or ';'}"
    return f"{told} {'W' if meant else 'w'}hich module registers it? --import MODULE"


def _known_modules(imports: Sequence[str]) -> None:
    """Stops where a module is not there; whether it can be imported, the run finds out."""
    for name in imports:
        top = name.partition(".")[0]
        # The workers run as `python -m`, which looks into the current folder, too.
        path = [str(Path.cwd()), *sys.path]
        there = importlib.machinery.PathFinder.find_spec(top, path) is not None
        if there or top in sys.modules or _found(top):
            continue
        modules = {one.name for one in pkgutil.iter_modules(path)}
        outcome.stop(EXIT_BAD_LIBRARY, f"--import: there is no module {name!r}{hint(top, modules)}")


def _found(module: str) -> bool:
    """Returns whether any finder knows it, such as that of an editable install."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _named(name: str | None, device: str | None) -> str:
    """Returns the device, given as a word or as an option, but once."""
    if bool(name) == bool(device):
        said = f"{name} and {device} are two devices" if name else "a device is needed"
        outcome.stop(EXIT_USAGE, f"{said}: tbk check NAME, or --device NAME")
    return str(name or device)


def _declared(path: Path | None, device: str) -> Declared:
    from tbk_harness import capabilities  # noqa: PLC0415

    if path is None:
        return capabilities.Declared()
    try:
        found = capabilities.load(path)
    except capabilities.CapabilityError as error:
        outcome.stop(EXIT_USAGE, str(error))
    if found.device and found.device != device:
        outcome.stop(EXIT_USAGE, f"{path} is of the device {found.device}, not of {device}")
    return found


CHECK_EXAMPLES = """\
tbk check cpu                            PyTorch's own CPU: shows that the suite works here
tbk check cuda --budget 2m               a first diagnosis; the most telling tests come first
tbk check npu --import torch_npu         a device that a package brings
tbk check npu --only torch_copy --open   one suite; then shows the page
tbk check npu --baseline known.toml      red for what is new alone"""
PROBE_EXAMPLES = """\
tbk probe npu --import torch_npu                      writes tbk-capabilities.toml
tbk check npu --capabilities tbk-capabilities.toml    and this makes it bind"""


@click.command(name="check", cls=Command, examples=CHECK_EXAMPLES)
@device_options
@option(
    VERDICT, "--capabilities", "file", type=INPUT, metavar="FILE",
    help="What the device declares to have, as tbk probe wrote it; it binds.",
)  # fmt: skip
@GATE
@running_options
@verdict_options
def check_command(
    name: str | None,
    device: str | None,
    imports: tuple[str, ...],
    file: Path | None,
    waivers: Path | None,
    baseline: Path | None,
    **options: Any,
) -> None:
    """Judge the device NAME that PyTorch knows: cpu, cuda, or anybody's own.

    The exit codes are those of tbk run.
    """
    display = progress.begin(outcome.console(), options["quiet"])
    device = _named(name, device)
    need_pytorch()
    display.phase(IMPORTING)
    outcome.known_words(options["only"])
    known_device(device, imports)
    _known_capabilities(options["require"])
    known = outcome.known_from(waivers, baseline)
    declared = _declared(file, device)
    from tbk_harness.session import (  # noqa: PLC0415  # takes long
        Session,
        known_parameters,
        request,
        understood,
    )

    gate = options.pop("gate")
    asked, subject = request(known, options), Subject(device, imports)
    options |= {"facts": str(file)} if file is not None else {}
    arguments = subject.arguments(options)
    understood(arguments, "torch")
    known_parameters(options["only"], arguments)
    if gate:
        display.phase("trying the gate")
        display.tell(_tried_gate(gate, device, imports))
    session = Session(asked, display)
    if file is not None and (record := declared.record(file)):
        session.more.append(record)
    session.run_torch(subject, options)
    session.end(device)


def _tried_gate(name: str, device: str, imports: Sequence[str]) -> str:
    """Has the proofs of order use a gate. Returns what it does; stops where it does not hold."""
    library, keeper = outcome.gate_file(name), locate.library("gate_keeper")
    if keeper is None:
        outcome.stop(EXIT_SUITE_ERROR, "libtbk_gate_keeper.so was not found: build it")
    os.environ.update({"TBK_GATE": library, "TBK_GATE_KEEPER": str(keeper)})
    words = [sys.executable, "-m", "tbk_harness.torch_worker.gate_trial", device, *imports]
    try:
        tried = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        outcome.stop(EXIT_BAD_LIBRARY, f"the gate {name}: 60 s without an end")
    said = line(tried.stdout.strip(), 400)
    if tried.returncode != EXIT_PASS:
        told = said or f"the gate {name}: {child.reason(tried.returncode, tried.stderr)}"
        outcome.stop(child.exit_code(tried.returncode, EXIT_BAD_LIBRARY), told)
    return f"the gate {name} {said}"


def _known_capabilities(require: Sequence[str]) -> None:
    """Stops where a word is none of the torch layer's: tbk-run knows them when it has imported
    PyTorch and collected all tests."""
    from tbk_harness.suggest import unknown_capability  # noqa: PLC0415

    if said := unknown_capability(require, torch_names.capability_words()):
        outcome.stop(EXIT_USAGE, said)


@click.command(name="probe", cls=Command, examples=PROBE_EXAMPLES)
@device_options
@click.option(
    "--output", type=PATH, metavar="FILE", default=Path("tbk-capabilities.toml"),
    show_default=True, help="Where to write it.",
)  # fmt: skip
@click.option(
    "--from", "earlier", type=RUN, metavar="RESULTS",
    help="A run's results: write down for which dtypes each operator passed, too.",
)  # fmt: skip
def probe_command(
    name: str | None,
    device: str | None,
    imports: tuple[str, ...],
    output: Path,
    earlier: Path | None,
) -> None:
    """Find out what the device NAME has, and write it into a file to commit.

    With tbk check --capabilities FILE it binds: what is declared there and does not work is a
    failure, and what works without being declared is a note.
    """
    display = progress.begin(outcome.console())
    device = _named(name, device)
    outcome.writable(output)
    places.free(output, places.CAPABILITIES)
    need_pytorch()
    known_device(device, imports)
    display.phase(PROBING)
    from tbk_harness import capabilities  # noqa: PLC0415
    from tbk_harness.session import runner_or_stop  # noqa: PLC0415

    runner_or_stop()
    tests: Sequence[Test] = outcome.read(earlier).tests if earlier else ()
    header = _probed(Subject(device, imports)).header
    words = header.get("capabilities") or {}
    operators = capabilities.passing_dtypes(tests)
    text = capabilities.document(header, operators, _meanings(), outcome.today())
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        outcome.stop(EXIT_NOT_WRITTEN, outcome.reason(error))
    progress.end()
    out = outcome.console()
    held = [line(word, 60) for word, value in words.items() if value]
    out.print(Text(f"{len(held)} of {len(words)}: {', '.join(held)}"))
    out.print(Text(str(output)))
    raise SystemExit(EXIT_PASS)


def _probed(subject: Subject) -> ResultFile:
    """tbk-run probes first, each word where it can crash without harm, and has no time for more."""
    from tbk_harness import runner  # noqa: PLC0415
    from tbk_harness.folder import RESULTS  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="tbk-probe-") as folder:
        output = Path(folder) / RESULTS
        ended = runner.run(subject.arguments({"budget": "0.001"}), output)
        found = read_results(output) if output.exists() else None
    whole = ended.exit_code in (EXIT_PASS, EXIT_FINDINGS, EXIT_NOTHING_SELECTED)
    if found is None or not whole or not found.header.get("capabilities"):
        said = line(ended.said, 400) or str(((found and found.footer) or {}).get("reason") or "")
        code = child.exit_code(ended.exit_code, EXIT_NO_DEVICE)
        outcome.stop(code, said or f"{subject.words} can't be probed")
    return found


def _meanings() -> dict[str, str]:
    """Returns what the words mean; they stand beside code that imports PyTorch, so another
    process asks.
    """
    ended = subprocess.run(
        [sys.executable, "-c", _MEANINGS], capture_output=True, text=True, check=False,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )  # fmt: skip
    found = json.loads(ended.stdout) if ended.returncode == 0 else {}
    return {str(word): str(meaning) for word, meaning in found.items()}
