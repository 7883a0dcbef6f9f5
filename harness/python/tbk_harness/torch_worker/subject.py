# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The device that is judged, as a process comes to know it."""

from __future__ import annotations

import importlib
import sys
from importlib import metadata
from typing import Any

import torch

from tbk_harness.torch_worker import environment
from tbk_harness.torch_worker.request import Request


class Subject:
    """Makes PyTorch know the device, once in a process."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.name = request.device_name
        self._known = False

    def steps(self) -> list[tuple[str, str]]:
        """Returns what `introduce` does, as (word, text)."""
        made = [("library", self._request.library)] if self._request.library else []
        made += [("module", name) for name in self._request.imports]
        return made

    @property
    def importing(self) -> str:
        """What `introduce` does, in words."""
        names = [f"the {kind} {name}" for kind, name in self.steps()]
        return f"importing {' and '.join(names)}" if names else "importing what makes it known"

    def introduce(self) -> None:
        """Loads the library and imports the modules that make PyTorch know the device."""
        if self._known:
            return
        if environment.restore_autoload():
            torch._import_device_backends()
        if self._request.library:
            torch_tbk = importlib.import_module("torch_tbk")
            torch_tbk.load(self._request.library, options=",".join(self._request.options) or None)
            if self._request.device is None:
                self.name = torch._C._get_privateuse1_backend_name()
        for name in self._request.imports:
            importlib.import_module(name)
        self._known = True

    @property
    def start(self) -> str:
        """Python statements that do the same in a fresh interpreter."""
        lines = ["import torch"]
        if self._request.library:
            options = ",".join(self._request.options) or None
            lines += [
                "import torch_tbk",
                f"torch_tbk.load({self._request.library!r}, options={options!r})",
            ]
        return "\n".join(lines + [f"import {name}" for name in self._request.imports])

    @property
    def device(self) -> torch.device:
        """Returns the first one."""
        return torch.device(self.name) if self.name == "cpu" else torch.device(self.name, 0)

    @property
    def module(self) -> Any:
        """torch.<name>; None where the device has no module."""
        try:
            return torch.get_device_module(self.name)
        except RuntimeError:
            return None

    def version(self) -> str:
        """Returns the version of what makes it a device: its module's, that of a package that was
        imported or declares itself for it, or that of the runtime PyTorch was built with. Where
        nobody says it, PyTorch's for a device of its own, and nothing for another one.
        """
        told = (
            getattr(self.module, "backend_version", None),
            getattr(self.module, "__version__", None),
            *(
                getattr(sys.modules.get(name), "__version__", None)
                for name in self._request.imports
            ),
            self._declared(),
            self._installed(),
            getattr(torch.version, self.name, None),
            "" if self._is_added else torch.__version__,
        )
        return next((one for one in told if isinstance(one, str) and one), "")

    @property
    def _is_added(self) -> bool:
        return self.name == torch._C._get_privateuse1_backend_name()

    def _installed(self) -> str:
        """Returns the version of the first package that has a module which was imported for it."""
        if not self._request.imports:
            return ""
        packages = metadata.packages_distributions()
        owners = [packages.get(name.partition(".")[0], []) for name in self._request.imports]
        return next((metadata.version(one) for some in owners for one in some), "")

    def _declared(self) -> str:
        """Returns the version of the one package that declares such a device to PyTorch."""
        if not self._is_added:
            return ""
        found = [
            one.dist
            for one in metadata.entry_points(group="torch.backends")
            if one.dist is not None
        ]
        return found[0].version if len(found) == 1 else ""

    def count(self) -> int:
        """Returns how many there are; one, where nothing can be asked."""
        count = getattr(self.module, "device_count", None)
        return int(count()) if count is not None else 1

    def synchronize(self) -> None:
        """Waits for all that was given to the first device."""
        current = torch.accelerator.current_accelerator()
        if current is not None and current.type == self.name:
            torch.accelerator.synchronize()
        elif hasattr(self.module, "synchronize"):
            self.module.synchronize()
