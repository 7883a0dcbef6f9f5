# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Computes by a thread of its own, which a forked child does not have."""

from __future__ import annotations

import queue
import threading
from typing import Any

import torch

_copy = torch.Tensor.to
_asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
_answers: queue.SimpleQueue[Any] = queue.SimpleQueue()


def _serve() -> None:
    while True:
        tensor, words, more = _asked.get()
        _answers.put(_copy(tensor, *words, **more))


def _by_thread(tensor: torch.Tensor, *words: Any, **more: Any) -> torch.Tensor:
    _asked.put((tensor, words, more))
    made: torch.Tensor = _answers.get()
    return made


threading.Thread(target=_serve, daemon=True).start()
torch.Tensor.to = _by_thread  # type: ignore[method-assign,assignment]
