# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How well what a litmus run says of rates holds, and how many faults it finds in a second.

    litmus_rates.py kills [--programs N]    of each mutant of order and lifetime: the share of
                                            programs that show it, by programs a second
    litmus_rates.py planted [--most N]      20 planted rates: is each found in as many programs as
                                            exclude it, by what a run of the reference says?
    litmus_rates.py shares [--rounds N]     20 rates that some processes have and others have not:
                                            is each found in as many as exclude it, N times?
    litmus_rates.py rare [--most N]         54 faults that are rarer, or show only behind many
                                            pieces of work, or in large ones
    litmus_rates.py shrunk [--rounds N]     of each mutant of order and lifetime, with N seeds: how
                                            many calls are left of what is found, how often it is
                                            seen again, and how often its file shows it alone
    litmus_rates.py torch [--seconds N]     of each mutant of order and lifetime, behind the bridge:
                                            is it found by PyTorch's calls, in so long?
    litmus_rates.py sound [--programs N] [--seconds N]
                                            the reference and all legal devices, each in so long:
                                            no finding

Each prints a JSON object a line, the last one the sum, and appends them to --output. Ends with 1
where something is missed: kills below 20.7 a second, more than one planted rate, any rare fault, or
where a legal device raises an alarm; a finding that is not seen again each time, or a median of
more than 8 calls; of PyTorch's calls, where one is missed that they reach.
Times are processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from litmus_mutants import BROKEN, BY_GATE, BY_MARKS, NO_CALL_OF_PYTORCH, OPTIONS_IN_PYTORCH
from litmus_runs import (
    MUTANTS,
    PLANTED,
    SEEDED,
    SURE,
    Run,
    hunt,
    litmus,
    plant,
    sound,
    stated,
    through_pytorch,
)
from runs import BUILD, CPU, ROOT

RATES = (100, 1_000, 10_000, 100_000)
PENDING = (2, 8, 32, 100, 200, 300, 400, 500)
SIZES = (256, 4096, 65_536, 1 << 20)
LARGEST = 64 << 20  # which one of a million programs has
RARE = (
    "rare_wait", "rare_copy", "rare_callback", "rare_record", "rare_event_synchronize",
    "rare_event_query", "rare_stream_synchronize", "rare_device_synchronize", "rare_upload",
)  # fmt: skip
PROCESSES = (24, 48, 96, 192)
EACH = 3_000  # programs of a process
FEW = 8  # calls of a finding
TOLD = ("outcome", "shown", "replays", "repeats", "processes", "alone_shown", "alone_runs")
SLOWLY = (
    "--shrink-time=60",
    *(f"--include={ROOT / 'contracts' / it}" for it in ("alone", "include")),
)
LONGER = 12  # times, for a device that had no time to start
LEARNED = 100_000  # programs of the reference, from which rates are known

Line = dict[str, Any]


def kills(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """How often each mutant shows; at the speed of the reference, since a finding may take long."""
    known = sound(LEARNED)
    speed = known.programs / known.cpu_seconds
    for what, name in BROKEN.items():
        run = litmus(MUTANTS, (f"mutant={name}",), choices.programs, counts=True, seconds=6)
        rate = min(run.found / run.programs, 1.0)
        a_second = rate * speed
        yield {"fault": what, "mutant": name, "programs": run.programs, "found": run.found,
               "programs_per_second": round(speed), "kills_per_second": round(a_second, 1)
               }, a_second >= SURE  # fmt: skip


def patient(options: tuple[str, ...], programs: int, seed: int, processes: int = 1) -> Run:
    """A call of these faults never takes long: what does is a busy machine's."""
    return litmus(MUTANTS, options, programs, seed=seed, processes=processes, call_timeout=60)


def is_seen(run: Run) -> bool:
    return run.code == 1 and run.outcome not in ("hang", "stuck")


def found_at(run: Run) -> Line:
    return {"found_at": run.index + 1 if run.code else None, "outcome": run.outcome}


def planted(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """20 rates: four of each of five kinds. What is excluded must not be missed."""
    known = sound(LEARNED)
    cases = [(kind, rate) for rate in RATES for kind in list(PLANTED) if kind != "RERECORD"]
    for number, (kind, rate) in enumerate(cases):
        needed = round(rate / stated(known.edges, known.programs, kind))
        allowed = min(needed, choices.most)
        run = patient(plant(kind, rate, number + 1), allowed, number + 2)
        yield {"kind": kind, "one_in": rate, "excluded_by": needed, "looked_at": allowed,
               **found_at(run)}, is_seen(run)  # fmt: skip


def shares(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """Four of each of five kinds, in 24 to 192 processes, with share and rate as stated."""
    cases = [(count, kind) for count in PROCESSES for kind in list(PLANTED) if kind != "RERECORD"]
    known = {count: sound(count * EACH, count) for count in PROCESSES}
    for number, (count, kind) in enumerate(cases):
        edge = known[count].edges[kind]
        share, rate = edge["share_percent"], edge["share_one_in"]
        missed = 0
        for again in range(choices.rounds):
            options = plant(kind, rate, 1000 * number + again, share)
            missed += not is_seen(patient(options, count * EACH, number + 2, count))
        yield {"kind": kind, "processes": count, "share_percent": share, "one_in": rate,
               "rounds": choices.rounds, "missed": missed}, missed == 0  # fmt: skip


def rare(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """One of 100 to 1,000,000 calls; behind 2 to 500 pieces of work; from 256 bytes to 64 MiB."""
    rates = [(name, f"one_in={rate}") for name in RARE for rate in RATES[:3]]
    rates += [("rare_wait", "one_in=100000"), ("rare_copy", "one_in=1000000")]
    piles = [("upload_behind_many", f"many={many}") for many in PENDING]
    piles += [("wait_behind_many", f"many={many}") for many in PENDING[:4]]
    large = [(name, f"bytes={size}") for name in ("large_copy", "large_upload") for size in SIZES]
    large += [("large_copy", f"bytes={LARGEST}")]
    large += [("callback_behind_large", f"bytes={size}") for size in SIZES]
    for name, option in rates + piles + large:
        run = patient((f"mutant={name}", option), choices.most, 5)
        yield {"mutant": name, "option": option, "looked_at": choices.most,
               **found_at(run)}, is_seen(run)  # fmt: skip


def shrunk(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """The last line has the median of all findings."""
    calls = []
    for name in choices.only or BROKEN.values():
        for seed in range(choices.seed, choices.seed + choices.rounds):
            began = time.monotonic()
            options = (f"mutant={name}", *SEEDED)
            with tempfile.TemporaryDirectory() as folder:
                ended = hunt(MUTANTS, Path(folder), options, f"--seed={seed}", *SLOWLY)
            line = {"mutant": name, "seed": seed, "seconds": round(time.monotonic() - began, 1)}
            if ended.code != 1:
                yield {**line, "said": ended.stderr[-200:]}, False
                continue
            found = ended.one("finding")
            calls.append(len(found["program"]))
            told = {key: found[key] for key in TOLD}
            yield {**line, "calls": calls[-1], **told}, 0 < found["shown"] == found["replays"]
    median = statistics.median(calls) if calls else None
    yield {"median_calls": median}, median is not None and median <= FEW


def torch(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """Of those that no call of PyTorch reaches, what is missing is said."""
    for what, name in BROKEN.items():
        if choices.only and name not in choices.only:
            continue
        missing = NO_CALL_OF_PYTORCH.get(name, "")
        options = (f"mutant={name}", *OPTIONS_IN_PYTORCH.get(name, ()))
        gated = name in BY_GATE | BY_MARKS
        found = {} if missing else through_pytorch(options, choices.seconds, gated)
        yield (
            {"fault": what, "mutant": name, "missing": missing, **found},
            (bool(missing) or found["code"] == 1),
        )


def legal() -> list[str]:
    listed = subprocess.run(
        [BUILD / "bin" / "tbk-mutants", "anti"], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line)["name"] for line in listed.splitlines()]


def alarms(choices: argparse.Namespace) -> Iterator[tuple[Line, bool]]:
    """A device that takes its time gets --seconds; the reference runs what such ones leave."""
    devices = [(CPU, ()), *((MUTANTS, (f"mutant={name}",)) for name in legal())]
    each = -(-choices.programs // len(devices))

    def run(number: int, longer: float = 1) -> Run | None:
        library, options = devices[number]
        seed = choices.seed + number
        try:
            seconds = choices.seconds * longer
            return litmus(library, options, each, seed=seed, seconds=seconds, call_timeout=20)
        except RuntimeError as error:  # no streams, no events: nothing to order
            if "the time was over" in str(error) and longer == 1:
                return run(number, LONGER)  # it starts slowly, beside much else
            if "nothing to order" not in str(error):
                raise
            return None

    left = choices.programs
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, options), ran in zip(devices, pool.map(run, range(len(devices))), strict=True):
            if ran is not None:
                left -= ran.programs
                yield alarms_of(options, ran)
    if left > 0:
        yield alarms_of((), litmus(CPU, (), left, seed=choices.seed + len(devices)))


def alarms_of(options: tuple[str, ...], ran: Run) -> tuple[Line, bool]:
    return {"device": options or "reference", "programs": ran.programs, "alarms": ran.code,
            "cpu_seconds": ran.cpu_seconds}, ran.code == 0  # fmt: skip


PARTS = {"kills": kills, "planted": planted, "shares": shares, "rare": rare, "shrunk": shrunk,
         "torch": torch, "sound": alarms}  # fmt: skip
MISSED = {"planted": 1, "shares": 1}  # of 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--most", type=int, default=30_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", nargs="*", help="mutants, of the parts `shrunk` and `torch`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    choices = parser.parse_args()
    right, count, programs = 0, 0, 0

    def tell(line: Line) -> None:
        text = json.dumps({"part": choices.part, **line})
        print(text, flush=True)
        if choices.output:
            with choices.output.open("a") as file:
                file.write(text + "\n")

    for line, holds in PARTS[choices.part](choices):
        tell({**line, "holds": holds})
        right += holds
        count += 1
        programs += line.get("programs", 0)
    tell({"sum": count, "hold": right, "programs": programs})
    return 0 if count > 0 and right >= count - MISSED.get(choices.part, 0) else 1


if __name__ == "__main__":
    sys.exit(main())
