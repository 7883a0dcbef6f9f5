# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Processes: forked before the first use, after it, and spawned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Child = Callable[..., str]

LOAD = """
import json, os, sys, time, torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
name = module.backend_name
def settle():
    "GCC 12's ASan leaves its lock held in a child, if another thread frees while it is forked."
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        if module.is_initialized():
            module.synchronize()
        time.sleep(0.2)
def in_child(work):
    "What `work` gives, or raises, in a forked child, and how the child ended."
    reader, writer = os.pipe()
    settle()
    if (pid := os.fork()) == 0:
        os.close(reader)
        try:
            result = work()
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        with os.fdopen(writer, "w") as file:
            json.dump(result, file)
        sys.exit(0)  # with everything that an interpreter does at its end
    os.close(writer)
    with os.fdopen(reader) as file:
        result = json.load(file)
    return result, os.waitpid(pid, 0)[1]
"""


def test_parent_and_children_may_all_use_what_nobody_has_used(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
work = lambda: (torch.arange(4, device=name) * 2).tolist()
print(json.dumps([in_child(work), in_child(work), [work(), 0]]))
"""
    assert json.loads(child(LOAD + program, library, backend_options)) == [[[0, 2, 4, 6], 0]] * 3


def test_what_the_parent_holds_is_of_no_use_to_a_child(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
x = torch.ones(3, device=name, requires_grad=True)
stream, event = torch.Stream(name), torch.Event(name)
event.record(stream)
uses = {
    "add": lambda: x + x, "item": lambda: x[0].item(), "cpu": lambda: x.cpu(),
    "empty": lambda: torch.empty(1, device=name), "synchronize": torch.accelerator.synchronize,
    "stream": stream.synchronize, "query": stream.query, "event": event.synchronize,
    "record": lambda: event.record(stream), "wait": lambda: stream.wait_event(event),
}
print(json.dumps({key: in_child(lambda: str(use())) for key, use in uses.items()} | {"name": name}))
"""
    told = json.loads(child(LOAD + program, library, backend_options))
    name = told.pop("name")
    for use, (text, status) in told.items():
        assert text.startswith(f"RuntimeError: Cannot use {name} in a forked child"), (use, text)
        assert "'spawn'" in text
        assert status == 0


def test_a_child_goes_on_without_the_device(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
kept = [torch.ones(1 << k, device=name) for k in range(20)]
stream = torch.Stream(name)
events = [stream.record_event() for _ in range(20)]
def work():
    torch.manual_seed(3)
    kept.clear(), events.clear()  # a driver that is the parent's is not called
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return [x.grad.tolist(), module.device_count(), module._is_in_bad_fork()]
result = in_child(work)
print(json.dumps([result, [float(x.sum()) for x in kept[:3]], [e.query() for e in events[:1]]]))
"""
    (result, status), kept, queried = json.loads(child(LOAD + program, library, backend_options))
    assert result[0] == [2.0, 2.0, 2.0]
    assert result[1] >= 1
    assert result[2] is True
    assert status == 0
    assert (kept, queried) == ([1.0, 2.0, 4.0], [True])


def test_a_spawned_process_may_use_the_device(
    child: Child, library: Path, backend_options: str, tmp_path: Path
) -> None:
    (tmp_path / "spawned.py").write_text("""
import sys, torch, torch_tbk
def work(queue, path, options):
    module = torch_tbk.load(path, options=options)
    queue.put((torch.arange(4, device=module.backend_name) * 2).tolist())
""")
    program = """
import multiprocessing, spawned
torch.ones(1, device=name)
context = multiprocessing.get_context("spawn")
queue = context.SimpleQueue()
process = context.Process(target=spawned.work, args=(queue, *sys.argv[1:]))
process.start()
values = queue.get()
process.join()
print(json.dumps([values, process.exitcode]))
"""
    printed = child(LOAD + program, library, backend_options, PYTHONPATH=str(tmp_path))
    assert json.loads(printed) == [[0, 2, 4, 6], 0]
