# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The PyTorch worker: the supervisor's second kind of worker, which runs pytest items.

`python -m tbk_harness.torch_worker keep` is the nursery (harness/src/nursery.h says what it and
tbk-run say to each other), from which keepers, and from those workers, are forked. `list` prints
the contract tests. Importing this package imports neither PyTorch nor pytest.
"""
