# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a vendor's package needs so that plain `import torch` is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from torch_tbk._load import load


def autoload(
    path: str | Path,
    *,
    options: str | Mapping[str, object] | None = None,
    operators: str | Path | None = None,
) -> Callable[[], None]:
    """Makes the function that a vendor's package names as its entry point.

    PyTorch calls the entry points of the group `torch.backends` at the end of `import torch`,
    unless `TORCH_DEVICE_BACKEND_AUTOLOAD=0`. The whole of a package `acme` beside its library is:

    ```python
    # acme/__init__.py
    from pathlib import Path
    import torch_tbk

    _autoload = torch_tbk.autoload(Path(__file__).with_name("libacme.so"))
    ```

    ```toml
    # pyproject.toml
    [project.entry-points."torch.backends"]
    acme = "acme:_autoload"
    ```

    The package may be imported before PyTorch: neither this function nor `import torch_tbk`
    imports it. A package that imports PyTorch itself does so *after* that line, because PyTorch
    then asks it for `_autoload` while it is only half imported.

    Args:
        path: the backend's library.
        options: as for `load`.
        operators: as for `load`.

    Returns:
        A function without arguments that loads the backend; calling it again does nothing. What
        `load` raises, it raises, and PyTorch reports that as a failure of `import torch`.
    """

    def load_backend() -> None:
        load(path, options=options, operators=operators)

    return load_backend
