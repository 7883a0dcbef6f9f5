# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Which names a backend may give itself."""

from __future__ import annotations

import pytest
import torch_tbk._load as load


@pytest.mark.parametrize("name", ["acme", "acme_npu", "x"])
def test_a_free_name_is_accepted(name: str) -> None:
    load._check_name(name)


@pytest.mark.parametrize("name", ["cpu", "cuda", "meta", "mkldnn", "maia", "xla", "privateuseone"])
def test_a_name_of_pytorchs_own_devices_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"calls itself '{name}'.*a device of its own"):
        load._check_name(name)


@pytest.mark.parametrize("name", ["acme2", "Acme", "_acme", "a:0", "", "class", "is"])
def test_a_name_that_pytorch_cannot_parse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="small letters"):
        load._check_name(name)


@pytest.mark.parametrize("name", ["nn", "float", "add", "jit", "distributed", "onnx"])
def test_a_name_that_torch_has_in_use_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"torch\.{name} exists already"):
        load._check_name(name)


@pytest.mark.parametrize("name", ["backward", "train", "batch_sizes", "nbytes"])
def test_a_name_that_would_replace_a_method_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"\.{name} exists already"):
        load._check_name(name)
