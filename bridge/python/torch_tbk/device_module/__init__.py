# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The module that PyTorch has at `torch.<name>` once a backend is loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

import torch

from torch_tbk._binding import binding
from torch_tbk.device_module import _utils, amp, fallback, memory, random
from torch_tbk.device_module import device as _device
from torch_tbk.device_module import stream as _stream
from torch_tbk.device_module.device import Capability, DeviceProperties
from torch_tbk.device_module.fallback import FallbackCount, PlanCounts, RouteCount

__all__ = [
    "Capability",
    "DeviceModule",
    "DeviceProperties",
    "FallbackCount",
    "PlanCounts",
    "RouteCount",
]


if TYPE_CHECKING:

    class _Module:
        """ModuleType without its promise to a type checker that every attribute is there."""

        def __init__(self, name: str, doc: str) -> None: ...
else:
    _Module = ModuleType


class DeviceModule(_Module):
    """`torch.<name>`: what users of torch.cuda know, for the backend that is loaded.

    It is what `torch_tbk.load` returns; there is one a process. The functions are described where
    they come from: the modules `device`, `stream`, `memory`, `random`, `amp` and `fallback`. Those
    of `memory`, `random` and `amp` are also at `torch.<name>.memory`, `.random` and `.amp`;
    `autocast` and `GradScaler` only there.
    """

    backend_name: str
    """What torch.device calls it."""
    backend_version: str
    """What the library says; for people."""
    backend_path: str
    """The library's file."""

    _utils = _utils
    amp = amp
    memory = memory
    random = random

    is_available = staticmethod(_device.is_available)
    is_initialized = staticmethod(_device.is_initialized)
    init = staticmethod(_device.init)
    _lazy_init = staticmethod(_device._lazy_init)
    _lazy_call = staticmethod(_device._lazy_call)
    _is_in_bad_fork = staticmethod(_device._is_in_bad_fork)
    device_count = staticmethod(_device.device_count)
    current_device = staticmethod(_device.current_device)
    set_device = staticmethod(_device.set_device)
    _exchange_device = staticmethod(_device._exchange_device)
    _maybe_exchange_device = staticmethod(_device._exchange_device)
    device = _device.device
    device_of = _device.device_of
    DeviceProperties = DeviceProperties
    get_device_properties = staticmethod(_device.get_device_properties)
    get_device_name = staticmethod(_device.get_device_name)
    get_device_capability = staticmethod(_device.get_device_capability)
    can_device_access_peer = staticmethod(_device.can_device_access_peer)
    synchronize = staticmethod(_device.synchronize)
    Capability = Capability
    capabilities = staticmethod(_device.capabilities)

    Stream = _stream.Stream
    ExternalStream = _stream.ExternalStream
    Event = _stream.Event
    StreamContext = _stream.StreamContext
    stream = staticmethod(_stream.stream)
    current_stream = staticmethod(_stream.current_stream)
    default_stream = staticmethod(_stream.default_stream)
    set_stream = staticmethod(_stream.set_stream)

    get_stream_from_external = staticmethod(_stream.get_stream_from_external)
    is_current_stream_capturing = staticmethod(_stream.is_current_stream_capturing)

    OutOfMemoryError = torch.OutOfMemoryError
    memory_stats = staticmethod(memory.memory_stats)
    memory_stats_as_nested_dict = staticmethod(memory.memory_stats_as_nested_dict)
    memory_allocated = staticmethod(memory.memory_allocated)
    max_memory_allocated = staticmethod(memory.max_memory_allocated)
    memory_reserved = staticmethod(memory.memory_reserved)
    max_memory_reserved = staticmethod(memory.max_memory_reserved)
    reset_peak_memory_stats = staticmethod(memory.reset_peak_memory_stats)
    reset_accumulated_memory_stats = staticmethod(memory.reset_accumulated_memory_stats)
    empty_cache = staticmethod(memory.empty_cache)
    mem_get_info = staticmethod(memory.mem_get_info)
    set_memory_limit = staticmethod(memory.set_memory_limit)
    get_memory_limit = staticmethod(memory.get_memory_limit)
    set_per_process_memory_fraction = staticmethod(memory.set_per_process_memory_fraction)
    get_per_process_memory_fraction = staticmethod(memory.get_per_process_memory_fraction)
    ipc_collect = staticmethod(memory.ipc_collect)
    host_memory_stats_as_nested_dict = staticmethod(memory.host_memory_stats_as_nested_dict)
    reset_accumulated_host_memory_stats = staticmethod(memory.reset_accumulated_host_memory_stats)
    reset_peak_host_memory_stats = staticmethod(memory.reset_peak_host_memory_stats)
    host_memory_stats = staticmethod(memory.host_memory_stats)
    reset_host_memory_stats = staticmethod(memory.reset_host_memory_stats)
    empty_host_cache = staticmethod(memory.empty_host_cache)
    memory_summary = staticmethod(memory.memory_summary)

    get_rng_state = staticmethod(random.get_rng_state)
    get_rng_state_all = staticmethod(random.get_rng_state_all)
    set_rng_state = staticmethod(random.set_rng_state)
    set_rng_state_all = staticmethod(random.set_rng_state_all)
    manual_seed = staticmethod(random.manual_seed)
    manual_seed_all = staticmethod(random.manual_seed_all)
    seed = staticmethod(random.seed)
    seed_all = staticmethod(random.seed_all)
    initial_seed = staticmethod(random.initial_seed)

    get_amp_supported_dtype = staticmethod(amp.get_amp_supported_dtype)
    is_bf16_supported = staticmethod(amp.is_bf16_supported)

    FallbackCount = FallbackCount
    RouteCount = RouteCount
    PlanCounts = PlanCounts
    fallbacks = staticmethod(fallback.fallbacks)
    reset_fallbacks = staticmethod(fallback.reset_fallbacks)
    get_fallback_mode = staticmethod(fallback.get_fallback_mode)
    set_fallback_mode = staticmethod(fallback.set_fallback_mode)
    fallback_mode = staticmethod(fallback.fallback_mode)
    routes = staticmethod(fallback.routes)
    reset_routes = staticmethod(fallback.reset_routes)
    plans = staticmethod(fallback.plans)
    get_forced_route = staticmethod(fallback.get_forced_route)
    set_forced_route = staticmethod(fallback.set_forced_route)
    forced_route = staticmethod(fallback.forced_route)

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.{name}", f"The devices of {name}; see torch_tbk.device_module.")
        self.backend_name = name
        self.backend_version = binding.version()
        self.backend_path = binding.path()
        self.__all__ = [attribute for attribute in dir(self) if not attribute.startswith("_")]
        for part in (amp, memory, random):
            sys.modules[f"torch.{name}.{part.__name__.rpartition('.')[2]}"] = part

    @property
    def _initialized(self) -> bool:
        """torch.utils.checkpoint keeps the random state of devices only where this is true."""
        return _device.is_initialized()

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        """Returns the default generator of each device, in order."""
        return random.default_generators()

    def __dir__(self) -> Iterable[str]:
        inherited = set(dir(ModuleType))
        return sorted((set(dir(type(self))) - inherited) | set(self.__dict__))
