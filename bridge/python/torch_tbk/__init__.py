# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch on any backend that speaks tbk.h. Importing this registers nothing and opens nothing."""
