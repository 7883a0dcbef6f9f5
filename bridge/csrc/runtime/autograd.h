// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tbk {

/// Notes whether a backward pass has been run already. Called when a backend is loaded: in a forked
/// child, PyTorch's engine is a new one and does not know.
void note_earlier_backward();

/// Lets backward passes run on `devices` devices also where PyTorch has run one before the backend
/// was loaded: it starts one thread a device at its first pass, of as many devices as it sees then,
/// and never again. Starts threads only in that case. Called when a device is opened, since no pass
/// needs the threads before, and a process may fork until then.
void ensure_autograd_threads(int devices);

}  // namespace tbk
