# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a result file says of backend, devices and run, in words and units."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import text
from .generated.capabilities import TORCH
from .model import Judged, as_count
from .words import GATE_WORDS

Pairs = list[tuple[str, str]]
MOST_NODES = 64

# Of the C layer: what a word means, and what says that it is not there.
_TABLES = {
    "stream": "streams",
    "event": "events",
    "callback": "host callbacks",
    "pinned": "pinned memory",
    "peer": "copies between devices",
    "async_memory": "stream-ordered memory",
    "kernel": "kernels",
    "random": "random numbers",
    "fault": "fault injection",
}
_ENTRIES = {
    "fill": ("fills", "fill"),
    "memory_info": ("how much memory is free", "memory_info"),
    "native_handle": ("the vendor's handles of streams", "stream_native_handle"),
    "from_native": ("streams made from the vendor's handles", "stream_from_native"),
    "elapsed": ("time between events", "event_elapsed"),
}
_FLAGS = {
    "flat_address": "handles that are addresses",
    "host_visible": "memory that the host can read",
    "cross_device_wait": "waits for events of another device",
    "exclusive": "one process at a time",
    "philox": "random bits by Philox",
    "simulated": "software in place of a device",
}
C: dict[str, tuple[str, str]] = {
    **{word: (means, f"`{word}` is NULL") for word, means in _TABLES.items()},
    **{word: (means, f"`{name}` is NULL") for word, (means, name) in _ENTRIES.items()},
    **{word: (means, f"flag `{word.upper()}` is not set") for word, means in _FLAGS.items()},
    "memory_bytes": ("the size of the memory", "`memory_bytes` is 0"),
    "max_allocation": ("a limit of one allocation", "`max_allocation_bytes` is 0"),
    "granularity": ("copies in units of several bytes", "`copy_granularity` is 1"),
    "two_devices": ("a second device", "`device_count` is 1"),
    "prepare": ("plans of kernels", "no kernel has `prepare`"),
    "generic": ("generic kernels", "no generic kernel is offered"),
}
_FAMILIES = {
    "op:": ("kernels of", "`kernel_find` answers NULL"),
    "dtype:": ("kernels for", "not in `dtypes`"),
}


def meaning(word: str, layer: str) -> str:
    """Returns what a capability is, in words; empty for a word that is not known."""
    if layer == "torch":
        return TORCH.get(word) or _dtype_of_torch(word)
    for prefix, (means, _) in _FAMILIES.items():
        if word.startswith(prefix):
            return f"{means} {word.removeprefix(prefix)}"
    return C.get(word, ("", ""))[0]


def _dtype_of_torch(word: str) -> str:
    kind, _, name = word.partition(":")
    return f"tensors of {name}" if kind == "dtype" and name else ""


def lacking(word: str, layer: str) -> str:
    """Returns in words that a device has not got it: "fault injection (`fault` is NULL)"."""
    found = meaning(word, layer)
    if not found:
        return f"{word} is not declared"
    if layer == "torch":
        return f"“{found}” does not hold (`{word}`)"
    family = next((how for prefix, (_, how) in _FAMILIES.items() if word.startswith(prefix)), "")
    return f"{found} ({family or C[word][1]})"


def others(word: str, layer: str) -> str:
    """Returns in words that tests are for devices that have not got it."""
    found = meaning(word, layer)
    if layer == "torch" and found:
        return f"tests for a device of which “{found}” does not hold"
    return f"tests for a device without {found or word}"


def _yes(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(_yes(item) for item in value)
    return "" if value is None else text.line(str(value), 500)


def _size(value: object) -> str:
    return text.bytes_words(as_count(value)) if as_count(value) else "not stated"


def _limit(value: object) -> str:
    return text.bytes_words(as_count(value)) if as_count(value) else "none but the memory"


def _list(value: object) -> str:
    return "; ".join(map(_yes, value)) if isinstance(value, list) else _yes(value)


def _dtypes(value: object) -> str:
    return ", ".join(_yes(value).lower().split()) if isinstance(value, list) else _yes(value)


def moment(value: object) -> str:
    """Returns a time as people write it: "2026-03-01 12:00 UTC"."""
    stated = text.line(str(value or ""), 40)
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", stated)
    return f"{found[1]} {found[2]} UTC" if found else stated


def _isolation(value: object) -> str:
    said = {"fork": "one a test", "batch": "many tests in one"}
    return said.get(str(value), _yes(value))


def _health(value: object) -> str:
    return "computes" if value == "ok" else _yes(value)


def _warm(value: object) -> str:
    return "once, before processes are forked" if value else "in each process"


# What a member is called, and how its value is said; others keep their name.
_MEMBERS: dict[str, tuple[str, Callable[[object], str]]] = {
    "path": ("library", _yes),
    "abi_version": ("ABI version", _yes),
    "flat_address": ("handles are addresses", _yes),
    "host_visible": ("the host reads its memory", _yes),
    "cross_device_wait": ("waits for other devices", _yes),
    "exclusive": ("one process at a time", _yes),
    "philox": ("random bits are Philox's", _yes),
    "memory_bytes": ("memory", _size),
    "max_allocation_bytes": ("limit of one allocation", _limit),
    "memory_alignment": ("alignment", _size),
    "copy_granularity": ("copies in units of", _size),
    "dtypes": ("dtypes", _dtypes),
    "max_rank": ("dimensions of a tensor", lambda value: f"at most {_yes(value)}"),
    "warm": ("PyTorch is imported", _warm),
    "imports": ("modules imported", _yes),
    "declared": ("capability file", _yes),
    "host_os": ("system", _yes),
    "limits": ("limits", _list),
    "started": ("started", moment),
    "finished": ("finished", moment),
    "isolation": ("processes", _isolation),
    "seed": ("seed of inputs", _yes),
    "repeat": ("runs of each test", _yes),
    "health": ("the device afterwards", _health),
    "digest": ("SHA-256", _yes),
}
_ELSEWHERE = ("unverified", "priority_least", "priority_greatest", "processes_held_by",
              "memory_held_by")  # fmt: skip
_RUN = ("started", "tier", "isolation", "seed", "shuffle", "repeat", "shard")
_END = ("finished", "health", "digest", "reason")


def _said(name: str, value: object) -> tuple[str, str]:
    called, say = _MEMBERS.get(name, (name.replace("_", " "), _yes))
    return text.line(called, 60), say(value)


def _pairs(value: object, names: Iterable[str] = ()) -> Pairs:
    """Returns name and value of the members, without those that say nothing."""
    members = value if isinstance(value, Mapping) else {}
    wanted = names or (str(name) for name in members)
    told = ((name, members.get(name)) for name in wanted if name not in _ELSEWHERE)
    return [_said(name, item) for name, item in told if item not in (None, "", [])]


def _device(value: object) -> Pairs:
    found = _pairs(value)
    if isinstance(value, Mapping) and "priority_least" in value:
        least, greatest = _yes(value["priority_least"]), _yes(value.get("priority_greatest"))
        found.append(("priorities of streams", f"{least}, the least, to {greatest}"))
    return found


def _capabilities(header: Mapping[str, Any], held: bool) -> list[str]:
    """Returns what is declared, or what is not: one entry a word, one for all of a family."""
    stated = header.get("capabilities")
    words = [
        text.line(str(word), 60)
        for word, value in (stated.items() if isinstance(stated, Mapping) else ())
        if bool(value) is held
    ]
    layer = str(header.get("layer") or ("torch" if header.get("torch") else "c"))
    found = [_capability(word, layer, held) for word in words if ":" not in word]
    for prefix, called in (("op:", "operators"), ("dtype:", "dtypes")):
        members = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
        if members:
            found.append(f"{called}: {', '.join(members)}")
    return found


def _capability(word: str, layer: str, held: bool) -> str:
    if not held:
        return lacking(word, layer)
    found = meaning(word, layer)
    return f"{found} (`{word}`)" if found else word


def _of_layer(header: Mapping[str, Any]) -> dict[str, Any]:
    devices = header.get("devices")
    return {
        "backend": _pairs(header.get("backend")),
        "suite": _pairs(header.get("suite")),
        "spec": _pairs(header.get("spec")),
        "machine": _pairs(header.get("machine")),
        "devices": [_device(device) for device in devices] if isinstance(devices, list) else [],
        "declared": _capabilities(header, True),
        "undeclared": _capabilities(header, False),
        "pytorch": _pairs(header.get("torch")),
        "command": typed(header),
        "gate": GATE_WORDS.get(str(header.get("gate")), _yes(header.get("gate"))),
        "run": _pairs(header, _RUN),
    }


def typed(header: Mapping[str, Any]) -> str:
    """Returns the command as a user typed it; of files that tbk-run alone wrote, that one."""
    said = header.get("typed")
    words = said if isinstance(said, list) and said else header.get("command")
    if not isinstance(words, list):
        return _yes(words)
    return text.line(shlex.join(str(word) for word in words), 900)


def _farm(header: Mapping[str, Any]) -> Pairs:
    """Returns which node of a farm ran what."""
    layers = header.get("layers")
    headers = list(layers.values()) if isinstance(layers, Mapping) else [header]
    farms = [one.get("farm") for one in headers if isinstance(one, Mapping)]
    told = [farm for farm in farms if isinstance(farm, Mapping)]
    if not told:
        return []
    parts, tests = Counter[str](), Counter[str]()
    for farm in told:
        nodes = farm.get("nodes")
        for name, ran in nodes.items() if isinstance(nodes, Mapping) else ():
            members = ran if isinstance(ran, Mapping) else {}
            parts[str(name)] += as_count(members.get("parts"))
            tests[str(name)] += as_count(members.get("tests"))
    found = [("where", _yes(told[0].get("where"))), ("a part takes", _yes(told[0].get("takes")))]
    lost = [one for farm in told for one in farm.get("lost") or () if isinstance(one, str)]
    found += [("went away", text.line(", ".join(dict.fromkeys(lost)), 300))] if lost else []
    return found + [
        (text.line(name, 60), f"{parts[name]:,} parts, {tests[name]:,} tests")
        for name in sorted(parts)[:MOST_NODES]
    ]


def environment(judged: Judged) -> dict[str, Any]:
    """Returns what the page says of backend, devices, machine and run; of the torch layer beside
    another, what is its own."""
    found = _of_layer(judged.header)
    layers = judged.header.get("layers")
    torch = layers.get("torch") if isinstance(layers, Mapping) else None
    found["torch"] = _of_layer(torch) if isinstance(torch, Mapping) else None
    found["end"] = _pairs(judged.footer, _END)
    found["farm"] = _farm(judged.header)
    return found
