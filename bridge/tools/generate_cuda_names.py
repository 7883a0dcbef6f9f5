#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write docs/reference/torch_cuda.md: every name of torch.cuda, there or with the reason.

The names are `torch.cuda.__all__` of the PyTorch that is installed, what other releases have there,
and a few that people use and that are not in it: each release makes the same page.
With --check, writes nothing and exits 1 if the page differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from torch_tbk.device_module import DeviceModule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "torch_cuda.md"
# New after the oldest release that the bridge is built for.
NEW = (
    "caching_allocator_disabled", "current_solver_handle",
    "export_dot", "export_graph_data", "graph_annotations",  # in 2.14
)  # fmt: skip
NOT_IN_ALL = ("OutOfMemoryError", "get_device_capability", "set_stream", "is_bf16_supported")

_LEGACY = "a tensor or storage class for one dtype and device, which PyTorch advises against"
_NVIDIA = "a part of NVIDIA's own libraries"
_SENSOR = "the interface of backends reads no sensors and no other processes"
_GRAPH = "there are no graphs: the interface of backends has none yet"
_POOL = "the bridge has one allocator, without private pools"
_WAITS = "set_fallback_mode('warn') shows what runs on the host, and waits for it"
_RAW = "memory comes with tensors and storages: torch.empty, torch.UntypedStorage"

ABSENT = {
    "CUDAGraph": _GRAPH,
    "graph": _GRAPH,
    "graphs": _GRAPH,
    "export_dot": _GRAPH,
    "export_graph_data": _GRAPH,
    "graph_annotations": _GRAPH,
    "graph_pool_handle": _GRAPH,
    "make_graphed_callables": _GRAPH,
    "CudaError": "torch.AcceleratorError is raised",
    "DeferredCudaCallError": "nothing is deferred but what _lazy_call is given",
    "GreenContext": _NVIDIA,
    "check_error": _NVIDIA,
    "cudaStatus": _NVIDIA,
    "cudart": _NVIDIA,
    "current_blas_handle": _NVIDIA,
    "current_solver_handle": _NVIDIA,
    "jiterator": _NVIDIA,
    "nccl": _NVIDIA,
    "nvtx": _NVIDIA,
    "profiler": "torch.profiler is for all devices",
    "tunable": _NVIDIA,
    "has_magma": _NVIDIA,
    "has_half": "get_device_properties().dtypes says which dtypes kernels take",
    "is_tf32_supported": "no backend computes float32 in a narrower format",
    "get_arch_list": "nothing is compiled for architectures; a backend does that by itself",
    "get_gencode_flags": "nothing is compiled for architectures; a backend does that by itself",
    "caching_allocator_alloc": _RAW,
    "caching_allocator_delete": _RAW,
    "caching_allocator_disabled": _POOL,
    "caching_allocator_enable": _POOL,
    "CUDAPluggableAllocator": _POOL,
    "MemPool": _POOL,
    "change_current_allocator": _POOL,
    "get_allocator_backend": _POOL,
    "use_mem_pool": _POOL,
    "memory_snapshot": "the allocator keeps no history; memory_stats has the figures",
    "max_memory_cached": "renamed by PyTorch: max_memory_reserved",
    "memory_cached": "renamed by PyTorch: memory_reserved",
    "reset_max_memory_allocated": "renamed by PyTorch: reset_peak_memory_stats",
    "reset_max_memory_cached": "renamed by PyTorch: reset_peak_memory_stats",
    "device_memory_used": "mem_get_info tells free and total",
    "list_gpu_processes": _SENSOR,
    "clock_rate": _SENSOR,
    "memory_usage": _SENSOR,
    "power_draw": _SENSOR,
    "temperature": _SENSOR,
    "utilization": _SENSOR,
    "get_sync_debug_mode": _WAITS,
    "set_sync_debug_mode": _WAITS,
    "sparse": "there are no sparse tensors",
    "streams": "Stream, ExternalStream and Event are at the module itself",
}


def _reason(name: str) -> str:
    return _LEGACY if name.endswith(("Tensor", "Storage")) else ABSENT.get(name, "")


def names() -> list[str]:
    """Returns what the page lists, in order."""
    return sorted({*torch.cuda.__all__, *NEW, *NOT_IN_ALL}, key=lambda name: (name.lower(), name))


def is_there(name: str) -> bool:
    """Returns whether `torch.<backend>.<name>` exists."""
    return hasattr(DeviceModule, name)


def faults() -> list[str]:
    """Returns names with neither a place nor a reason, and reasons for what is there or gone."""
    wrong = [name for name in names() if not is_there(name) and not _reason(name)]
    return wrong + [name for name in ABSENT if is_there(name) or name not in names()]


def page() -> str:
    """Returns the text of the page."""
    rows = []
    for name in names():
        place, reason = ("yes", "") if is_there(name) else ("no", _reason(name))
        rows.append(f"| `{name}` | {place} | {reason} |")
    return "\n".join(
        [
            "# The names of torch.cuda",
            "",
            "Made from `torch.cuda.__all__` of PyTorch 2.11 to 2.14 by",
            "`bridge/tools/generate_cuda_names.py`; do not edit.",
            "What `torch.<backend>` has means what it means there; see",
            "[the reference](torch_tbk.md). Moreover it has `capabilities`, `set_memory_limit`,",
            "`get_memory_limit`, `empty_host_cache`, and the functions about fallbacks.",
            "",
            "| name | there | why not, or what instead |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check: bool = parser.parse_args().check
    for name in faults():
        print(f"torch.cuda.{name}: neither there nor with a reason, or both", file=sys.stderr)
    if faults():
        return 1
    if check:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
