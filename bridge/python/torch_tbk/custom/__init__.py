# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of a vendor, described in a YAML file: docs/custom-operators.md.

Imports PyTorch; `torch_tbk.load(path, operators="acme.yml")` is what uses it.
"""
