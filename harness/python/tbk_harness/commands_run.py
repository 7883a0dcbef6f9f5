# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk run: a library, in C and as PyTorch sees it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from tbk_reports.model import EXIT_BAD_LIBRARY, EXIT_SUITE_ERROR, EXIT_USAGE, read_results

from tbk_harness import child, outcome, progress
from tbk_harness.command_line import HOW, LIBRARY, WHAT, Choice, Command, option
from tbk_harness.farm.place import PARTS, Place, farm_options
from tbk_harness.farm.place import place as farm_place
from tbk_harness.options import (
    Subject,
    runner_arguments,
    runner_options,
    verdict_options,
)

if TYPE_CHECKING:
    from tbk_harness.litmus_layer import Plan
    from tbk_harness.session import Session

IMPORT_S = 300
NOT_RUN = "the torch layer was not run: "
NEVER_BEGAN = (EXIT_BAD_LIBRARY, EXIT_SUITE_ERROR)
_LOADS = "from torch_tbk._extension import extension; extension()"


def no_torch_layer() -> str:
    """Returns why a library cannot be judged as PyTorch sees it, in a few words, as far as files
    tell it: PyTorch, whose import takes seconds, is not imported. Empty where nothing is known."""
    for name in ("torch", "torch_tbk"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed for {sys.executable}"
    return str(importlib.import_module("torch_tbk._extension").problem())


def _not_importable() -> str:
    """Returns why PyTorch or the bridge cannot be imported; empty where both can."""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _LOADS], capture_output=True, text=True, errors="replace",
            timeout=IMPORT_S, check=False, env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"importing PyTorch took more than {IMPORT_S} s"
    if ended.returncode == 0:
        return ""
    said = child.last_words(ended.stderr)
    return said or f"importing it: {child.ending(ended.returncode)}"


EXAMPLES = """\
tbk run ./libacme.so                 both layers, in minutes
tbk run ./libacme.so --layer c       the contracts in C alone, in seconds
tbk run ./libacme.so --tier thorough --open    sweeps, long repeats; then the page
tbk run ./libacme.so --only memory   an area; also MEM-005, or a test's id
tbk run ./libacme.so --resume        goes on after an interruption
tbk run cpu                          a backend that comes with the suite
tbk run ./libacme.so --fail-on warning,partial --require stream   for CI
tbk run ./libacme.so --shard auto --timings old.jsonl    on several boards
tbk run ./libacme.so --farm ray://head:10001 --resource acme=1    by Ray"""


@click.command(name="run", cls=Command, examples=EXAMPLES)
@click.argument("library", metavar="LIB")
@option(
    WHAT, "--layer", type=Choice(["c", "torch", "both"]),
    help="The contracts in C, those of a PyTorch device, or both (default: both where PyTorch is).",
)  # fmt: skip
@option(
    HOW, "--tsan", is_flag=True,
    help="Find data races in LIB, which was built with -fsanitize=thread; of the C layer.",
)  # fmt: skip
@option(
    LIBRARY, "--simulated", is_flag=True,
    help="Give LIB, a backend that comes with the suite, the simulator of its driver.",
)  # fmt: skip
@runner_options
@verdict_options
@farm_options
@PARTS
def run_command(
    library: str,
    layer: str | None,
    tsan: bool,
    simulated: bool,
    waivers: Path | None,
    baseline: Path | None,
    **options: Any,
) -> None:
    """Judge the backend LIB: run the suite, write the reports, end with the verdict.

    LIB is a file. Where there is none of that name, `cpu` and `template` are the backends that come
    with the suite. The contracts in C come first, then those of PyTorch, through the bridge.

    The exit codes: 0 pass, 1 findings, 2 bad usage, 3 nothing selected, 4 bad library, 5 no device,
    6 suite error, 7 interrupted, 8 results could not be written.
    """
    place = _place(options, tsan)
    if layer == "torch" and options["require"]:
        outcome.stop(EXIT_USAGE, "--require is of the C layer, and --layer torch leaves that out")
    display = progress.begin(outcome.console(), options["quiet"])
    outcome.known_words(options["only"])
    known = outcome.known_from(waivers, baseline)
    if simulated:
        # It only chooses a driver: that a run is a simulated one is for its device to say.
        options = {**options, "backend_option": (*options["backend_option"], _simulator(library))}
    library = outcome.library_file(library)
    environment: dict[str, str] = {}
    if tsan:
        layer, options, environment = _under_tsan(library, layer, options)
    from tbk_harness import litmus_layer  # noqa: PLC0415  # what takes long to import
    from tbk_harness.farm import watch  # noqa: PLC0415
    from tbk_harness.session import Session, request, understood  # noqa: PLC0415

    asked = request(known, options, place is not None)
    if layer == "torch":
        understood(Subject(library=library).arguments(options), layer)
    else:
        understood(runner_arguments(library, options), "c")
    order = litmus_layer.plan(options, tsan)
    if place is not None:
        watch.need(place)
    session = Session(asked, display)
    chosen, why_not = _layers(layer)
    if "torch" in chosen and place is None:
        _known_parameters(library, options)
    if why_not:
        display.tell(why_not)
        session.notes.append(why_not)
    session.environment = environment
    if place is not None:
        _run_on_farm(session, place, library, chosen, options, order)
    else:
        _run(session, library, chosen, options, order)
    _drop_torch(session, layer)
    session.end(library)


def _known_parameters(library: str, options: dict[str, Any]) -> None:
    """Stops where a test of the torch layer is asked for with parameters that it does not have."""
    from tbk_harness import selectors  # noqa: PLC0415
    from tbk_harness.session import known_parameters  # noqa: PLC0415

    only = selectors.split(options["only"])["torch"]
    mine = {name: value for name, value in options.items() if name != "require"}
    known_parameters(only, Subject(library=library).arguments({**mine, "only": only}))


def _place(options: dict[str, Any], tsan: bool) -> Place | None:
    """Returns the farm to run on; None where this machine does."""
    place = farm_place(options)
    if place is None:
        return None
    for name in ("shard", "budget"):
        if options[name] is not None:
            outcome.stop(EXIT_USAGE, f"--{name} does not go with --farm, which divides by itself")
    if tsan:
        outcome.stop(EXIT_USAGE, "--tsan does not go with --farm")
    return place


def _run_on_farm(
    session: Session,
    place: Place,
    library: str,
    chosen: tuple[str, ...],
    options: dict[str, Any],
    order: Plan,
) -> None:
    """The same as on this machine, with the tests and the programs on the nodes of a farm."""
    from tbk_harness import layers, litmus_layer  # noqa: PLC0415
    from tbk_harness.farm import layer as on_farm  # noqa: PLC0415

    words, chosen = _words(chosen, options["only"])
    farm = on_farm.begin(session, place, library, options["timings"])
    run = on_farm.FarmRun(session, farm, library, options, session.request.resume)
    try:
        if "c" in chosen:
            session.parts.append(run.run("c", words["c"]))
            if layers.stops_here(session.parts[0].ended, bool(options["only"])):
                session.not_begun += [layer for layer in chosen if layer != "c"]
                return
            litmus_layer.run(session, library, options, order, run.hunt)
        if "torch" in chosen:
            begun = time.time()
            session.parts.append(run.run("torch", words["torch"]))
            session.substitute(session.parts[-1], Subject(library=library), options, begun)
    finally:
        on_farm.end(session, farm)


def _under_tsan(
    library: str, layer: str | None, options: dict[str, Any]
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Returns layer, options and environment of a run under ThreadSanitizer."""
    if layer not in (None, "c"):
        outcome.stop(EXIT_USAGE, "--tsan is of the C layer")
    from tbk_harness import runner  # noqa: PLC0415
    from tbk_harness import tsan as sanitizer  # noqa: PLC0415

    try:
        found = sanitizer.environment(Path(library), runner.runner())
    except sanitizer.NoTsanError as error:
        outcome.stop(EXIT_USAGE, str(error))
    except runner.NoRunnerError as error:
        outcome.stop(EXIT_SUITE_ERROR, str(error))
    return "c", sanitizer.defaults(options), found


def _words(
    chosen: tuple[str, ...], only: tuple[str, ...]
) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Returns the words of --only by layer, and the layers that are asked for."""
    from tbk_harness import selectors  # noqa: PLC0415

    words = selectors.split(only) if len(chosen) > 1 else dict.fromkeys(chosen, only)
    return words, tuple(layer for layer in chosen if words[layer] or not only)


def _run(
    session: Session, library: str, chosen: tuple[str, ...], options: dict[str, Any], order: Plan
) -> None:
    """C first; where that finds no backend, PyTorch would find none either."""
    from tbk_harness import layers, litmus_layer  # noqa: PLC0415

    only = options["only"]
    words, chosen = _words(chosen, only)
    if "c" in chosen:
        mine = {**options, "only": words["c"], **session.budget_of_c("torch" in chosen)}
        alone = chosen == ("c",) and order.program is None
        part = session.run("c", runner_arguments(library, mine), alone=alone)
        if layers.stops_here(part.ended, bool(only)):
            session.not_begun += [layer for layer in chosen if layer != "c"]
            return
        litmus_layer.run(session, library, options, order)
    if "torch" in chosen:
        # The words that C and PyTorch have for capabilities are not the same.
        mine = {name: value for name, value in options.items() if name != "require"}
        session.run_torch(Subject(library=library), {**mine, "only": words["torch"]})


def _layers(layer: str | None) -> tuple[tuple[str, ...], str]:
    """Returns which layers to run, and why the one of PyTorch is none of them."""
    if layer == "c":
        return ("c",), ""
    reason = no_torch_layer()
    if not reason:
        return ("torch",) if layer == "torch" else ("c", "torch"), ""
    if layer is not None:
        outcome.stop(EXIT_BAD_LIBRARY, f"the torch layer cannot be run: {reason}")
    return ("c",), f"{NOT_RUN}{reason}"


def _drop_torch(session: Session, layer: str | None) -> None:
    """Leaves PyTorch's layer out of the run, and says why, where nobody asked for it by name and
    PyTorch or the bridge turns out not to be importable."""
    if layer is not None or len(session.parts) < 2:  # without it nothing was run
        return
    part = session.parts[-1]
    if part.layer != "torch" or part.ended.exit_code not in NEVER_BEGAN:
        return
    if part.written and read_results(part.path).header.get("planned"):
        return
    if reason := _not_importable():
        session.parts.remove(part)
        session.notes.append(f"{NOT_RUN}{reason}")
        session.display.tell(session.notes[-1])


def _simulator(name: str) -> str:
    """Returns the option by which a backend of the suite takes the simulator of its driver."""
    from tbk_harness import locate  # noqa: PLC0415

    found = locate.library(f"{name}_simulator") if name.isidentifier() else None
    if found is None:
        outcome.stop(EXIT_USAGE, f"--simulated: no simulator of a driver comes with {name}")
    return f"driver={found}"
