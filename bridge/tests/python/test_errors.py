# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Bad libraries, and errors of the backend: one clear exception each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch_tbk

Child = Callable[..., str]

HERE = Path(__file__).parent

TRY = """
import json, os, sys
from pathlib import Path
import torch, torch_tbk
def told(use):
    try:
        return ["no error", str(use())]
    except Exception as error:
        return [type(error).__name__, str(error)]
"""


def test_bad_libraries_change_nothing(child: Child, library: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not a library")
    empty = tmp_path / "empty.so"
    empty.touch()
    program = """
bad = [sys.argv[2], sys.argv[3], os.path.dirname(sys.argv[2]), sys.argv[4], "/dev/null"]
print(json.dumps([
    [told(lambda: torch_tbk.load(path)) for path in bad],
    told(lambda: torch_tbk.load("./nowhere.so")),
    told(lambda: torch.device("nowhere")),
    torch._C._get_privateuse1_backend_name(),
    torch_tbk.load(sys.argv[1]).device_count() > 0,
]))
"""
    no_backend = sys.modules["_ctypes"].__file__
    refused, nowhere, device, name, loaded = json.loads(
        child(TRY + program, library, text, empty, no_backend)
    )
    reasons = ["is not a library", "is not a library", "is a directory", "does not export"]
    for (kind, message), reason in zip(refused, [*reasons, "is not a regular file"], strict=True):
        assert kind == "ValueError"
        assert reason in message
        assert "\n" not in message
    assert nowhere[0] == "FileNotFoundError"
    assert device[0] == "RuntimeError"
    assert (name, loaded) == ("privateuseone", True)


def test_options_that_the_backend_refuses_change_nothing(child: Child, library: Path) -> None:
    program = """
print(json.dumps([
    told(lambda: torch_tbk.load(sys.argv[1], options="no_backend_has_such_an_option=1")),
    torch._C._get_privateuse1_backend_name(),
    torch_tbk.load(sys.argv[1]).device_count() > 0,
]))
"""
    (kind, message), name, loaded = json.loads(child(TRY + program, library))
    assert kind == "ValueError"
    assert "refuses: INVALID" in message
    assert (name, loaded) == ("privateuseone", True)


def test_a_second_backend_is_refused_by_the_name_of_the_first(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
name = torch_tbk.load(sys.argv[1], options=sys.argv[2]).backend_name
second = told(lambda: torch_tbk.load(sys.argv[3]))
print(json.dumps([name, second, torch.ones(2, device=name).tolist()]))
"""
    others = (torch_tbk.reference(name) for name in ("cpu", "template"))
    other = next(path for path in others if path.resolve() != library)
    name, (kind, message), values = json.loads(
        child(TRY + program, library, backend_options, other)
    )
    assert kind == "RuntimeError"
    assert f"'{name}'" in message
    assert str(library.resolve()) in message
    assert values == [1.0, 1.0]


FAULTY = (
    TRY
    + """
from faults import Faulty
module = torch_tbk.load(sys.argv[1], options="inner=" + sys.argv[2])
faulty = Faulty(Path(sys.argv[1]))
name = module.backend_name
def failing(call, status, use):
    faulty.arm(call, 1, status)
    result = told(use)
    assert faulty.calls(call) >= 1, call
    faulty.disarm()
    return result
"""
)


def faulty() -> Path:
    return torch_tbk.reference("cpu").parent / "bridge_tests" / "libfaulty.so"


def test_a_device_that_fails_to_open_can_be_opened_later(child: Child) -> None:
    program = """
opens = [failing("device_open", status, lambda: torch.ones(2, device=name))
         for status in ("FAILED", "OUT_OF_MEMORY")]
opens.append(failing("stream_create", "FAILED", lambda: torch.ones(2, device=name)))
closed = module.is_initialized()
pid = os.fork()  # nothing is open, so that a child may use the device
if pid == 0:
    os._exit(0 if torch.ones(2, device=name).tolist() == [1, 1] else 1)
print(json.dumps([opens, closed, os.waitpid(pid, 0)[1], torch.ones(2, device=name).tolist()]))
"""
    opens, was_open, status, values = json.loads(
        child(FAULTY + program, faulty(), torch_tbk.reference("cpu"), PYTHONPATH=str(HERE))
    )
    kinds = [kind for kind, _ in opens]
    assert kinds == ["AcceleratorError", "OutOfMemoryError", "AcceleratorError"]
    assert [message.split(": ")[1] for _, message in opens] == [
        "device_open",
        "device_open",
        "stream_create",
    ]
    assert (was_open, status, values) == (False, 0, [1.0, 1.0])


def test_an_error_of_earlier_work_names_what_may_have_caused_it(child: Child) -> None:
    program = """
x = torch.ones(4, device=name)
torch.accelerator.synchronize()
y = x + x
z = y * x
stream = torch.accelerator.current_stream()
texts = [failing("stream_synchronize", "FAILED", stream.synchronize),
         failing("device_synchronize", "FAILED", torch.accelerator.synchronize)]
torch.accelerator.synchronize()
texts.append(failing("stream_synchronize", "FAILED", stream.synchronize))
print(json.dumps([name, texts, z.tolist()]))
"""
    name, texts, values = json.loads(
        child(FAULTY + program, faulty(), torch_tbk.reference("cpu"), PYTHONPATH=str(HERE))
    )
    assert [kind for kind, _ in texts] == ["AcceleratorError"] * 3
    for _, text in texts[:2]:
        assert text.startswith(f"{name}:0: ")
        assert "add.Tensor, mul.Tensor" in text
    assert "enqueued" not in texts[2][1], "the device was known to be well"
    assert values == [2.0] * 4


def test_what_the_backend_logs_is_shown_where_it_is_asked_for(child: Child, tmp_path: Path) -> None:
    program = """
name = torch_tbk.load(sys.argv[1], options="mutant=open_log_crashes").backend_name
os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
torch.ones(1, device=name)
print(name)
"""
    file = tmp_path / "stderr"
    seen = []
    for level in ("debug", "info", "warning", ""):
        name = child(TRY + program, torch_tbk.reference("mutants"), file, TBK_LOG=level).strip()
        seen.append(file.read_text().replace(name, "name"))
    assert seen == ["name: device opened\n"] * 2 + [""] * 2
