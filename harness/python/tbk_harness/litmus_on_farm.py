# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk litmus on a farm: what a node is told, and what is said of nodes in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from tbk_reports import text
from tbk_reports.finding import ALL, Record
from tbk_reports.model import as_count

from tbk_harness import outcome
from tbk_harness.farm.node import BRIDGE, GATE, LIBRARY
from tbk_harness.farm.place import Place
from tbk_harness.litmus_runner import REPRODUCER, TORCH_REPRODUCER, Hunted

OWN_GATE = "bridge"  # of the bridge that a node has


def torch_words(options: Mapping[str, Any]) -> list[str]:
    """Returns tbk-litmus's words for what PyTorch's calls shall judge on a node, which has PyTorch
    and the device; none: those of tbk.h do."""
    found = []
    if options["gate"]:
        found.append(f"--torch-gate={BRIDGE if options['gate'] == OWN_GATE else GATE}")
    if options["device"]:
        imported = [f"--torch-import={name}" for name in options["imports"]]
        return [f"--torch-device={options['device']}", *imported, *found]
    return [f"--torch-library={LIBRARY}", *found] if options["layer"] == "torch" else []


def hunt(
    program: Path, place: Place, subject: str, words: Sequence[str], options: Mapping[str, Any],
    folder: Path,
) -> Hunted:  # fmt: skip
    """Runs programs on a farm; ends the command in one line where there is none.

    `words`: tbk-litmus's options.
    """
    from tbk_harness.farm import programs  # noqa: PLC0415
    from tbk_harness.farm.watch import FarmError, need  # noqa: PLC0415

    need(place)
    files, gate = {}, ""
    if not options["device"]:
        files["library"] = Path(subject)
    if options["gate"] and options["gate"] != OWN_GATE:
        gate = outcome.gate_file(options["gate"])
        files["gate"] = Path(gate)
    through = torch_words(options)
    asked = programs.Asked(
        words=(*through, *words, "--each-process"),
        library=str(Path(subject).absolute()) if files.get("library") else "",
        gate=gate, reproducer=TORCH_REPRODUCER if through else REPRODUCER,
        seconds=options["seconds"], first=options["first"], programs=options["programs"],
    )  # fmt: skip
    try:
        return programs.hunt(asked, place, files, folder, program)
    except FarmError as error:
        outcome.stop(error.code, str(error))


def tell(records: Sequence[Record], console: Console) -> None:
    """Prints what is said of nodes; nothing of a run on one machine."""
    header = records[0] if records else {}
    nodes, farm = header.get("nodes"), header.get("farm")
    if not isinstance(nodes, Mapping) or not isinstance(farm, Mapping):
        return
    if of_nodes := share_words(records):
        console.print(Text(f"of {len(nodes)} nodes: {of_nodes}", style="dim"))
    for name, ran in nodes.items():
        found = f", {text.count_words(ran['findings'], 'finding')}" if ran["findings"] else ""
        parts = text.count_words(ran["parts"], "part")
        console.print(
            Text(f"  {text.line(name, 60)}: {ran['programs']:,} programs in {parts}{found}")
        )
    if farm.get("lost"):
        lost = ", ".join(text.line(str(name), 60) for name in farm["lost"])
        console.print(Text(f"  went away, and what was lost with it was run again: {lost}"))


def share_words(records: Sequence[Record]) -> str:
    """Returns of which share of nodes a fault would have been seen, for the kinds that are proven;
    empty where it is said only of what all have."""
    shares = [
        as_count(one.get("node_percent"))
        for one in records
        if one.get("record") == "litmus-edge" and one.get("state") == "proven"
    ]
    told = [one for one in shares if 0 < one < ALL]
    if not told:
        return ""
    least, most = min(told), max(told)
    spread = f"{least} %" if least == most else f"{least} to {most} %, by kind of edge"
    return (
        f"a fault that {spread} of them have, in all of their processes, would have been seen, too"
    )
