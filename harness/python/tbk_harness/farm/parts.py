# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a layer is divided, and which of its parts are there already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbk_reports.model import EXIT_FINDINGS, EXIT_NOTHING_SELECTED, EXIT_PASS, read_results

from tbk_harness.farm.merge import Shard
from tbk_harness.farm.node import RESULTS

# Small ones: what a lost node had is run again, and the last ones end at about the same time. Each
# part of the torch layer imports PyTorch and probes the device anew.
A_BOARD = {"c": 8, "torch": 2}
PLAN, REPLY = "plan.json", "reply.json"
WHOLE = (EXIT_PASS, EXIT_FINDINGS, EXIT_NOTHING_SELECTED)  # parts that need not run again


class OtherRunError(ValueError):
    """What is to go on was another run."""


@dataclass(frozen=True)
class Division:
    """A layer in `of` parts, whose answers lie in `folder`."""

    layer: str
    of: int
    folder: Path

    def name(self, number: int) -> str:
        """Returns the name of a part, which is its folder."""
        return f"{self.layer}-{number:04}-of-{self.of:04}"

    def shard(self, number: int) -> Shard | None:
        """Returns a part that has come back; None where it has not."""
        path = self.folder / self.name(number) / RESULTS
        try:
            reply = json.loads(path.with_name(REPLY).read_text("utf-8"))
            there = path.stat().st_size > 0
        except (OSError, ValueError):
            return None
        if not there or not isinstance(reply, dict):
            return None
        return Shard(
            number, path, str(reply.get("node")), str(reply.get("library") or ""),
            float(reply.get("seconds") or 0.0),
        )  # fmt: skip

    def shards(self) -> list[Shard]:
        """Returns all parts that have come back."""
        found = [self.shard(number) for number in range(1, self.of + 1)]
        return [one for one in found if one is not None]

    def left(self) -> list[int]:
        """Returns the parts that have not come back, or have no verdict."""
        done = {shard.number for shard in self.shards() if _whole(shard.path)}
        return [number for number in range(1, self.of + 1) if number not in done]


def _whole(path: Path) -> bool:
    footer = read_results(path).footer
    return footer is not None and footer.get("exit_code") in WHOLE


def divide(
    layer: str, boards: int, asked: int | None, folder: Path, identity: Mapping[str, Any],
    resume: bool,
) -> Division:  # fmt: skip
    """Returns the division of a layer; of a run that goes on, the one that it had.

    Raises OtherRunError where that was a run of other tests, options or another library.
    """
    plan = folder / f"{layer}-{PLAN}"
    if resume and plan.exists():
        try:
            old = json.loads(plan.read_text("utf-8"))
            if old["identity"] == identity and asked in (None, old["of"]):
                return Division(layer, int(old["of"]), folder)
        except (ValueError, KeyError, TypeError):
            pass
        raise OtherRunError(f"--resume: {plan.parent} is of a run with other options")
    of = asked or max(boards, 1) * A_BOARD[layer]
    folder.mkdir(parents=True, exist_ok=True)
    plan.write_text(json.dumps({"of": of, "identity": identity}) + "\n", "utf-8")
    return Division(layer, of, folder)
