# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Loads a backend's library and makes PyTorch know it by its name."""

from __future__ import annotations

import importlib.util
import os
import re
import threading
import warnings
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

from torch_tbk._extension import extension

if TYPE_CHECKING:
    from torch_tbk.device_module import DeviceModule

_FREE_SLOT = "privateuseone"

# Loading may come back to load(): `import torch` runs the autoload of vendors' packages.
_lock = threading.RLock()
_loaded: DeviceModule | None = None


def load(
    path: str | os.PathLike[str],
    *,
    options: str | Mapping[str, object] | None = None,
    operators: str | os.PathLike[str] | None = None,
) -> DeviceModule:
    """Loads the backend in the library at `path`; `torch.<its name>` is there from now on.

    Opens no device, and counts none: that is left to the first use. A process may fork until then.

    A failure leaves everything as it was, and another library may be tried. The same library with
    the same options may be loaded again, and gives the same module. A library is never unloaded.
    Any thread.

    Args:
        path: the library's file, not a name for the loader to search: `"./libacme.so"`. For the
            backends that come with this package: `torch_tbk.reference("cpu")`.
        options: what the backend's documentation offers, as `{"devices": 4, "key": "value"}` or
            `"devices=4,key=value"`.
        operators: a YAML file that describes operators of the vendor's own, which are then in
            `torch.ops`; docs/custom-operators.md. Several files take a call each.

    Returns:
        The module that is also `torch.<name>`.

    Raises:
        ImportError: PyTorch is too old, or this package was built for another PyTorch.
        FileNotFoundError: there is no such file.
        ValueError: the file is no backend, the backend refuses the options, or its name is one that
            PyTorch keeps for itself, has in use, or can't parse; or TBK_FALLBACK is not understood.
            Also what is wrong in `operators`, in one line with its file and line; the device is
            there then.
        RuntimeError: another backend is in use in this process already. PyTorch has room for one.
    """
    import torch  # noqa: F401, PLC0415  # before the lock: it may run the autoload of a package

    with _lock:
        module = _load(_resolve(path), _option_string(options))
        if operators is not None:
            from torch_tbk.custom.register import register_file  # noqa: PLC0415  # takes a while

            register_file(Path(operators))
        return module


def _load(path: str, options: str) -> DeviceModule:
    global _loaded  # noqa: PLW0603  # one backend a process is PyTorch's rule
    _check_slot(path)
    name: str = extension().load(path, options, _check_name)
    if _loaded is None:
        _loaded = _register(name)
    return _loaded


def _resolve(path: str | os.PathLike[str]) -> str:
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no backend's library {str(file)!r}")
    return str(file.resolve())


def _option_string(options: str | Mapping[str, object] | None) -> str:
    if options is None or isinstance(options, str):
        return options or ""
    for key, value in options.items():
        if re.search("[,=]", f"{key}{value}"):
            raise ValueError(f"an option can have no ',' and no '=' in it: {key!r}: {value!r}")
    return ",".join(f"{key}={value}" for key, value in options.items())


def _check_slot(path: str) -> None:
    """Raises where another maker's device has PyTorch's slot; nothing is registered in it yet."""
    import torch  # noqa: PLC0415

    taken = torch._C._get_privateuse1_backend_name()
    if _loaded is None and taken != _FREE_SLOT:
        raise RuntimeError(
            f"cannot load {path}: the device {taken!r} of another package is in use, and PyTorch "
            f"has room for one in a process"
        )


def _check_name(name: str) -> None:
    """Raises unless `name` can be a device's name. Nothing has been registered yet."""
    import torch  # noqa: PLC0415
    from torch.nn.utils.rnn import PackedSequence  # noqa: PLC0415

    says = f"the backend calls itself {name!r}, and"
    if not re.fullmatch("[a-z][a-z_]*", name) or iskeyword(name):
        raise ValueError(
            f"{says} PyTorch can only use names of small letters and '_' that are no Python keyword"
        )
    if _is_parsed(name):
        raise ValueError(f"{says} PyTorch keeps that name for a device of its own")
    if hasattr(torch, name) or importlib.util.find_spec(f"torch.{name}"):
        raise ValueError(f"{says} torch.{name} exists already")
    for owner in (torch.Tensor, torch.nn.Module, PackedSequence, torch.storage._StorageBase):
        for attribute in (name, f"is_{name}"):
            if hasattr(owner, attribute):
                raise ValueError(f"{says} {owner.__name__}.{attribute} exists already")


def _is_parsed(name: str) -> bool:
    import torch  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of the names are deprecated
        try:
            torch.device(name)
        except RuntimeError:
            return False
    return True


def _register(name: str) -> DeviceModule:
    import torch  # noqa: PLC0415

    from torch_tbk.device_module import DeviceModule  # noqa: PLC0415
    from torch_tbk.device_module._exit import wait_for_autograd_at_exit  # noqa: PLC0415

    registration = torch.utils.backend_registration
    registration.rename_privateuse1_backend(name)
    module = DeviceModule(name)
    torch._register_device_module(name, module)
    registration.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    wait_for_autograd_at_exit()
    return module
