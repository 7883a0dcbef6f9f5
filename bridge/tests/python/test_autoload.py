# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A vendor's package with an entry point: plain `import torch` is enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Package = Callable[..., dict[str, str]]

INIT = """
import torch_tbk
_autoload = torch_tbk.autoload({path!r}, options={options!r})
{more}
"""


@pytest.fixture
def package(tmp_path: Path, library: Path, backend_options: str) -> Package:
    """Installs a package `acme_backend` for a child; what the child's environment needs."""

    def install(path: str = "", more: str = "") -> dict[str, str]:
        folder = tmp_path / "acme_backend"
        folder.mkdir()
        text = INIT.format(path=path or str(library), options=backend_options, more=more)
        (folder / "__init__.py").write_text(text)
        info = tmp_path / "acme_backend-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-backend\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[torch.backends]\nacme = acme_backend:_autoload\n")
        return {"PYTHONPATH": str(tmp_path), "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}

    return install


SHOW = """
found = torch.accelerator.current_accelerator()
print(found is not None and torch.ones(2, device=found).sum().item() == 2)
"""


def test_importing_torch_is_enough(child: Callable[..., str], package: Package) -> None:
    assert child("import torch" + SHOW, **package()) == "True\n"


@pytest.mark.parametrize("more", ["", "import torch", "_autoload()"])
def test_the_package_may_be_imported_first(
    child: Callable[..., str], package: Package, more: str
) -> None:
    """Also where it imports PyTorch itself, which comes back to a package half imported."""
    assert child("import acme_backend, torch" + SHOW, **package(more=more)) == "True\n"


def test_it_can_be_turned_off(child: Callable[..., str], package: Package) -> None:
    """A PyTorch with CUDA names that one, also where no GPU is; never what the package has."""
    off = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    shows = "; print(torch.accelerator.current_accelerator())"
    plain = child("import torch" + shows, **off)
    assert plain in {"None\n", "cuda\n"}
    assert child("import torch, acme_backend" + shows, **{**package(), **off}) == plain


def test_a_missing_library_is_named(child: Callable[..., str], package: Package) -> None:
    program = """
try:
    import torch
except RuntimeError as error:
    print(error, "|", error.__cause__)
"""
    told = child(program, **package(path="/nowhere/libacme.so"))
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in told
    assert "no backend's library '/nowhere/libacme.so'" in told
