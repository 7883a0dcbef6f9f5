# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of a device as PyTorch sees it: the contract tests of the torch layer.

Importing this package imports no PyTorch. `pytest --pyargs tbk_contracts --tbk-device=NAME` runs
them in one process; `tbk check --device NAME` runs them under the supervisor, where a test that
crashes or hangs costs nothing but itself.
"""
