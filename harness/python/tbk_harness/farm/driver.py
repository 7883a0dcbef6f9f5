# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Talks with Ray, in a process of its own: `python -m tbk_harness.farm.driver EVENTS`.

A line of JSON each way. Standard input: first the farm, then batches of jobs. EVENTS, a descriptor:
what becomes of them. What a job brings is in its folder before anybody is told.
Placement, another try where a node was lost, and finding out that it was, are Ray's.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tbk_reports.model import EXIT_SUITE_ERROR
from tbk_reports.text import line

from tbk_harness.farm.place import local_boards

MISSING = "missing"  # Ray is not installed
REFUSED = "refused"  # there is no such farm, or no node that has what a part takes
POLL_S = 0.5
LOOK_S = 1.0  # between two looks at who is there
STORE_BYTES = 80 * 1024 * 1024  # of a farm on this machine
RETRIES = 3


class NoFarmError(RuntimeError):
    """There is no farm to run on, in one line."""


def token_words() -> str:
    """Returns what a farm that does not answer may want.

    Ray's token is shown only where its user has said so: who shows it asks the nodes for it, too,
    and never hears from those that have none.
    """
    if os.environ.get("RAY_AUTH_MODE"):
        return ""
    return " (where its head asks for Ray's token, set RAY_AUTH_MODE=token)"


def _first_line(error: BaseException) -> str:
    return line(str(error).strip() or type(error).__name__, 300)


class Driver:
    """One connection to a farm."""

    def __init__(self, events: int, farm: Mapping[str, Any]) -> None:
        self._events = events
        self._where, self._wait = str(farm["where"]), float(farm["wait_s"])
        self._takes = {str(name): float(amount) for name, amount in farm["resources"]}
        self._takes = self._takes or {"CPU": 1.0}
        self._folder = Path(farm["folder"])
        self._files = {name: Path(path) for name, path in farm["files"].items()}
        self._names: dict[str, str] = {}
        self._alive: set[str] = set()
        self._seen = 0.0
        self._last_board = time.monotonic()
        self.ray: Any = None
        self._blobs: Any = None

    def tell(self, event: str, **more: Any) -> None:
        """Writes an event; the one who reads it may be gone."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._events, json.dumps({"event": event, **more}).encode() + b"\n")

    def connect(self) -> None:
        """Finds the farm, and a node that has what a part takes. Raises NoFarmError."""
        settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        boards = local_boards(self._where)
        settings |= {"address": self._where} if boards is None else self._local(boards)
        try:
            self.ray.init(**settings)
        except Exception as error:
            said = f"no farm at {self._where}: {_first_line(error)}"
            raise NoFarmError(said + (token_words() if boards is None else "")) from error
        self._look()
        if not self._boards():
            raise NoFarmError(f"no node of the farm has {self._words()}; {self._offered()}")
        blobs = {name: path.read_bytes() for name, path in self._files.items()}
        self._blobs = self.ray.put(blobs)
        self.tell("ready")

    def _local(self, boards: int) -> dict[str, Any]:
        more = {name: amount * boards for name, amount in self._takes.items()}
        return {
            "address": "local", "num_cpus": int(more.pop("CPU", boards)),
            "num_gpus": int(more.pop("GPU", 0)), "resources": more, "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
        }  # fmt: skip

    def _words(self) -> str:
        return ", ".join(f"{name}={amount:g}" for name, amount in self._takes.items())

    def _offered(self) -> str:
        known = self.ray.cluster_resources()
        hidden = ("node:", "memory", "object_store_memory", "accelerator_type:")
        told = [f"{name}={known[name]:g}" for name in sorted(known) if not name.startswith(hidden)]
        return f"it has {', '.join(told) or 'none'}"

    def _look(self) -> None:
        """Asks who is there. Blocks where the head is gone: who waits for events notices."""
        nodes = self.ray.nodes()
        alive = {one["NodeID"] for one in nodes if one["Alive"]}
        self._name(nodes)
        for gone in self._alive - alive:
            self.tell("lost", node=self._names[gone])
        self._alive = alive
        self._nodes = [one for one in nodes if one["Alive"]]
        self._seen = time.monotonic()
        if self._boards():
            self._last_board = self._seen
        self.tell("alive", boards=self._boards())

    def _name(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Names nodes as people do: by what they were started with, else by the machine."""
        for one in nodes:
            address, host = one.get("NodeManagerAddress"), str(one.get("NodeManagerHostname"))
            name = str(one.get("NodeName") or "")
            name = host if not name or name == address else name
            taken = {other for key, other in self._names.items() if key != one["NodeID"]}
            self._names.setdefault(
                one["NodeID"], name if name not in taken else f"{name}-{one['NodeID'][:6]}"
            )

    def _boards(self) -> int:
        """Returns how many parts run at a time."""
        return sum(
            min(int(one["Resources"].get(name, 0) / amount) for name, amount in self._takes.items())
            for one in self._nodes
        )

    def _submit(self, job: Mapping[str, Any]) -> Any:
        takes = dict(self._takes)
        remote = self.ray.remote(place_and_work).options(
            num_cpus=takes.pop("CPU", 0), num_gpus=takes.pop("GPU", 0), resources=takes,
            max_retries=RETRIES, scheduling_strategy="SPREAD",
        )  # fmt: skip
        return remote.remote(dict(job), self._blobs)

    def run(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        """Runs a batch, and tells of each job once."""
        pending = {self._submit(job): job for job in jobs}
        while pending:
            ready, _ = self.ray.wait(list(pending), num_returns=1, timeout=POLL_S)
            for reference in ready:
                self._take(reference, pending.pop(reference))
            if time.monotonic() - self._seen > LOOK_S:
                self._look()
            if time.monotonic() - self._last_board > self._wait:
                self.tell("over", said=f"no node that has {self._words()} is left")
                raise SystemExit(0)
        self._look()  # also of what went away in the last moment
        self.tell("batch")

    def _take(self, reference: Any, job: Mapping[str, Any]) -> None:
        try:
            reply = self.ray.get(reference)
        except Exception as error:
            lost = not isinstance(error, self.ray.exceptions.RayTaskError)
            self.tell("failed", name=job["name"], said=_first_line(error), lost=lost)
            return
        folder = self._folder / str(job["name"])
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in reply.pop("files").items():
            waiting = folder / f"{name}.part"
            waiting.write_bytes(data)
            waiting.replace(folder / name)
        on = str(reply.pop("node"))
        if on not in self._names:
            self._look()
        reply["node"] = self._names.get(on, on[:12])
        waiting = folder / "reply.json.part"
        waiting.write_text(json.dumps(reply) + "\n", "utf-8")
        waiting.replace(folder / "reply.json")
        self.tell("done", name=job["name"])


def place_and_work(job: dict[str, Any], blobs: dict[str, bytes]) -> dict[str, Any]:
    """Runs on a node, within Ray, which brings this function along, and nothing that it calls."""
    ray: Any = importlib.import_module("ray")
    began = time.time()
    try:
        work = importlib.import_module("tbk_harness.farm.node").work
    except ImportError as error:
        lacks = f"torch-backend-kit, or that version of it, is not installed: {error}"
        reply: dict[str, Any] = {"code": EXIT_SUITE_ERROR, "said": lacks, "files": {}}
    else:
        reply = work(job, blobs)
    where = ray.get_runtime_context().get_node_id()
    return {**reply, "node": where, "began": began, "seconds": time.time() - began}


def main() -> None:
    """Serves until standard input ends."""
    # The command hands its signals on; the first one ends the jobs, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    driver = Driver(int(sys.argv[1]), json.loads(sys.stdin.readline()))
    try:
        try:
            driver.ray = importlib.import_module("ray")
        except ImportError as error:
            driver.tell(MISSING, said=_first_line(error))
            return
        driver.connect()
        for text in sys.stdin:
            driver.run(json.loads(text))
    except NoFarmError as error:
        driver.tell(REFUSED, said=str(error))
    except KeyboardInterrupt:
        driver.tell("over", said="interrupted")
    except Exception as error:
        driver.tell("over", said=_first_line(error))
        raise
    finally:
        driver.tell("end")


if __name__ == "__main__":
    main()
