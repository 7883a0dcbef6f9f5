# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Every operator of PyTorch's own database of samples, judged on a device by an oracle on the host.

`table` says how each is judged, `entries` lists them, `samples` picks and varies their inputs,
`oracle` has the answers with their bounds, `judge` compares, `served` says who computed.
"""
