# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The PyTorch worker: the supervisor's second kind of worker, which runs pytest items.

`python -m tbk_harness.torch_worker serve` is the fork server (harness/src/fork_server.h says
what it and tbk-run say to each other), from which launchers, and from those workers, are forked.
`list` prints the contract tests. Importing this package imports neither PyTorch nor pytest.
"""
