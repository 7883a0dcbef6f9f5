# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A farm of local Ray nodes, of which one is killed at a moment that a seed says.

`python harness/tests/farm.py --seed N --times K FOLDER`: K runs on three nodes, each with another
seed; ends with 1 where one of them lost a test, counted one twice, or has another verdict than one
machine. `--kill head` takes the head away instead: then all that was recorded must still be there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from runs import CPU, PATIENCE, TBK_RUN, Record, read

RESOURCE = "acme"
STORE_BYTES = 80 * 1024 * 1024
NODES = 3
STARTS = 3  # tries at starting a node


@dataclass
class Local:
    """A head without boards, and nodes with one each."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.cluster.address)


@contextmanager
def farm(count: int = NODES) -> Iterator[Local]:
    """Starts a farm, and ends it."""
    made = _head()
    try:
        nodes = [_added(made, f"board-{number}") for number in range(count)]
        made.wait_for_nodes(timeout=PATIENCE)
        yield Local(made, nodes)
    finally:
        made.shutdown()


def _head() -> Any:
    cluster: Any = importlib.import_module("ray.cluster_utils").Cluster
    settings = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    return _started(
        lambda: cluster(initialize_head=True, head_node_args={**settings, "node_name": "head"})
    )


def _added(cluster: Any, name: str) -> Any:
    return _started(
        lambda: cluster.add_node(
            wait=False, num_cpus=0, resources={RESOURCE: 1}, object_store_memory=STORE_BYTES,
            node_name=name,
        )
    )  # fmt: skip


def _started(start: Callable[[], Any]) -> Any:
    """Returns what Ray starts. Ray gives it 30 s, which a busy machine may not have at once."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        except Exception:
            if not left:
                raise
    raise AssertionError


def tbk(address: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    """Starts `tbk run` on a farm."""
    command = [sys.executable, "-m", "tbk_harness", "run", str(CPU), "--layer", "c"]
    command += ["--farm", address, "--resource", f"{RESOURCE}=1", "--report-dir", str(folder)]
    return subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def arrived(folder: Path) -> int:
    """Returns how many parts have come back."""
    return len(list(folder.glob("parts/farm/c-*/reply.json")))


def kill_in_the_middle(local: Local, folder: Path, seed: int, parts: int, head: bool) -> int:
    """Kills a node when a part that the seed says has come back; returns which one."""
    drawn = random.Random(seed)  # noqa: S311
    victim, when = drawn.randrange(len(local.nodes)), drawn.randrange(1, parts // 3)
    more = drawn.random() / 2
    until = time.monotonic() + PATIENCE
    while arrived(folder) < when and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(more)
    node = local.cluster.head_node if head else local.nodes[victim]
    local.cluster.remove_node(node, allow_graceful=False)
    return victim


def wanted(words: Sequence[str]) -> set[str]:
    """Returns the tests that one machine would run."""
    listed = subprocess.run(
        [str(TBK_RUN), str(CPU), "--list", *words], capture_output=True, text=True, check=True
    )
    rows = (row.split() for row in listed.stdout.splitlines())
    return {row[0] for row in rows if len(row) > 1 and "/" in row[0]}


def problems(folder: Path, words: Sequence[str], victim: int, code: int) -> list[str]:
    """Returns what is wrong with a run that had to be whole."""
    results = read(folder / "parts" / "c.jsonl")
    counted = Counter(record["id"] for record in results.tests)
    expected = wanted(words)
    found = [f"{name} is there {count} times" for name, count in counted.items() if count != 1]
    found += [f"{name} is lost" for name in sorted(expected - set(counted))]
    found += [f"{name} was not asked for" for name in sorted(set(counted) - expected)]
    bad = {one["verdict"] for one in results.tests} - {"pass", "unsupported"}
    found += [f"verdicts {sorted(bad)}"] if bad else []
    found += [f"exit code {code}"] if code != 0 else []
    lost = results.header["farm"]["lost"]
    found += [] if lost == [f"board-{victim}"] else [f"lost: {lost}, and not board-{victim}"]
    return found


def once(folder: Path, seed: int, words: Sequence[str], parts: int, head: bool) -> Record:
    """Runs the suite on a farm that loses a node, or its head."""
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    with farm() as local:
        started = time.monotonic() - began
        process = tbk(local.address, folder, f"--parts={parts}", "--farm-wait=20s", *words)
        victims: list[int] = []
        thread = threading.Thread(
            target=lambda: victims.append(kill_in_the_middle(local, folder, seed, parts, head))
        )
        thread.start()
        out, err = process.communicate(timeout=PATIENCE)
        thread.join()
    told = {"seed": seed, "code": process.returncode, "out": out, "err": err}
    there = arrived(folder)
    found = [] if head else problems(folder, words, victims[0], process.returncode)
    seconds = {"start": round(started, 1), "all": round(time.monotonic() - began, 1)}
    return {**told, "problems": found, "arrived": there, "seconds": seconds}


def main() -> int:
    """Runs it K times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--parts", type=int, default=18)
    parser.add_argument("--kill", choices=["node", "head"], default="node")
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    words = [f"--only={one}" for one in asked.only]
    bad = 0
    for at in range(asked.times):
        folder = asked.folder / f"seed-{asked.seed + at}"
        told = once(folder, asked.seed + at, words, asked.parts, asked.kill == "head")
        print(json.dumps(told), flush=True)
        bad += bool(told["problems"])
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
