// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>

#include <utility>

namespace tbk {

/// PyTorch's current device: one a thread, 0 in a new thread. The C interface has none, so this is
/// the only place where it exists; setting it calls nothing and opens nothing.
namespace detail {
inline thread_local c10::DeviceIndex current_device_index = 0;
}

/// Returns the current device of this thread.
inline c10::DeviceIndex current_device() noexcept {
  return detail::current_device_index;
}
/// Makes `index` current in this thread. Unchecked: `index` is in range, or nothing that uses it
/// comes before the next call of this.
inline void set_current_device(c10::DeviceIndex index) noexcept {
  detail::current_device_index = index;
}

/// Returns the device that `index` names; -1 is the current one. Errors: RuntimeError for one out
/// of range.
c10::DeviceIndex resolve_device(c10::DeviceIndex index);

/// Makes `index` current until it is destroyed. Cheap: no virtual call, no lock.
class CurrentDeviceGuard {
 public:
  explicit CurrentDeviceGuard(c10::DeviceIndex index) noexcept
      : previous_(std::exchange(detail::current_device_index, index)) {}
  ~CurrentDeviceGuard() {
    detail::current_device_index = previous_;
  }
  CurrentDeviceGuard(const CurrentDeviceGuard&) = delete;
  CurrentDeviceGuard& operator=(const CurrentDeviceGuard&) = delete;

 private:
  c10::DeviceIndex previous_;
};

}  // namespace tbk
