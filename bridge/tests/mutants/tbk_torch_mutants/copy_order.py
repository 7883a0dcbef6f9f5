# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Copies: their order, and whose streams they use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.copies import around_copy, between, on_device, to_device, to_host
from tbk_torch_mutants.module_device import module
from tbk_torch_mutants.table import mutant


@contextmanager
def default_stream(*devices: torch.device) -> Iterator[None]:
    """The default streams of these are current inside; the current device stays."""
    index = torch.accelerator.current_device_index()
    former = [torch.accelerator.current_stream(device) for device in devices]
    try:
        for device in devices:
            torch.accelerator.set_stream(module().default_stream(device))
        torch.accelerator.set_device_index(index)
        yield
    finally:
        for stream in former:
            torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(index)


def _on_default_stream(wanted: Any) -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if not wanted(self, source):
            return copy(self, source, wait)
        there = {one.device for one in (self, source) if one.device.type != "cpu"}
        with default_stream(*there):
            return copy(self, source, wait)

    around_copy(change)


@mutant("download_on_default_stream", "CPY-502 CPY-515", "does not wait for the current stream")
def _() -> None:
    _on_default_stream(to_host)


@mutant("upload_on_default_stream", "CPY-515", "not on the current stream", narrow=True)
def _() -> None:
    _on_default_stream(to_device)


@mutant("device_copy_on_default_stream", "CPY-515", "not on the current stream", narrow=True)
def _() -> None:
    _on_default_stream(on_device)


@mutant("peer_copy_on_default_streams", "CPY-507", "not on the current streams of both devices")
def _() -> None:
    _on_default_stream(between)


@mutant("copy_elsewhere_on_default_stream", "CPY-513", "on the default stream of a device "
        "that is not current", narrow=True)  # fmt: skip
def _() -> None:
    def other_is_current(self: torch.Tensor, source: torch.Tensor) -> bool:
        there = source if self.device.type == "cpu" else self
        return there.device.index != torch.accelerator.current_device_index()

    _on_default_stream(other_is_current)


@mutant("upload_returns_early", "CPY-503", "a blocking copy from the host reads its source later")
def _() -> None:
    _late(lambda self, source, wait: not wait)


@mutant(
    "non_blocking_is_never_done", "CPY-504 CPY-505 CPY-506", "a non-blocking copy has no effect"
)
def _() -> None:
    around_copy(lambda copy, self, source, wait: None if wait else copy(self, source, wait))


@mutant("non_blocking_download_is_never_done", "CPY-506", "only to ordinary memory", narrow=True)
def _() -> None:
    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        lost = wait and to_host(self, source) and not self.is_pinned()
        return None if lost else copy(self, source, wait)

    around_copy(change)


def _late(wanted: Any) -> None:
    """Uploads wait until something is brought to the host, and read their source only then."""
    pending: list[tuple[torch.Tensor, torch.Tensor]] = []

    def change(copy: Any, self: torch.Tensor, source: torch.Tensor, wait: bool) -> Any:
        if to_device(self, source) and wanted(self, source, wait):
            pending.append((self.detach(), source.detach()))
            return None
        while pending:
            copy(*pending.pop(0), False)
        return copy(self, source, wait)

    around_copy(change)


@mutant("non_blocking_upload_reads_late", "CPY-505", "reads ordinary memory after it has returned")
def _() -> None:
    _late(lambda self, source, wait: wait and not source.is_pinned())


@mutant("item_does_not_wait", "CPY-512", "item reads beside the current stream")
def _() -> None:
    def read(original: Any, tensor: torch.Tensor) -> Any:
        with default_stream(tensor.device):
            return original(tensor)

    kernels.around("_local_scalar_dense", read)
