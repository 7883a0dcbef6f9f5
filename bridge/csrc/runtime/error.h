// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <tbk/tbk.h>

#include <string>

namespace tbk {

/// Holds the backend's message; begins empty.
struct ErrorBuffer : tbk_error_t {
  ErrorBuffer() {
    message[0] = '\0';
  }
};

/// Returns "OUT_OF_MEMORY: " and the backend's message, or what tbk.h says of the status where that
/// is empty.
std::string describe_status(tbk_status_t status, const tbk_error_t& error);

/// Throws what `status` means in PyTorch. The text has the backend's name, the device (none where
/// it is negative), the call of tbk.h that failed, the status and the backend's own message.
///   INVALID                      c10::ValueError            ValueError
///   UNSUPPORTED                  c10::NotImplementedError   NotImplementedError
///   OUT_OF_MEMORY                c10::OutOfMemoryError      torch.OutOfMemoryError
///   FAILED, DEVICE_LOST          c10::AcceleratorError      torch.AcceleratorError
///   INVALID_STATE, UNAVAILABLE
///   and what tbk.h doesn't know  c10::Error                 RuntimeError
/// Where `status` may come from work enqueued earlier (FAILED, DEVICE_LOST), the text also names
/// the operators that were enqueued on the device since it was last known to be well.
[[noreturn]] void raise_status(tbk_status_t status, const tbk_error_t& error, const char* call,
                               int device);

/// Throws as raise_status does unless `status` is OK.
inline void check(tbk_status_t status, const tbk_error_t& error, const char* call, int device) {
  if (status != TBK_OK) [[unlikely]]
    raise_status(status, error, call, device);
}

}  // namespace tbk
