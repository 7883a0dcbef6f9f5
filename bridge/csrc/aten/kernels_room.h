// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/device_allocator.h>
#include <runtime/error.h>

namespace tbk {

/// Returns what `call` of the backend answers. Where that is OUT_OF_MEMORY it is called once more,
/// when the device has got back what the allocator keeps for later: a kernel may need memory of its
/// own.
template <typename Call>
tbk_status_t with_room(c10::DeviceIndex device, ErrorBuffer& error, Call call) {
  const tbk_status_t status = call();
  if (status != TBK_OUT_OF_MEMORY) [[likely]]
    return status;
  device_allocator().give_back_cached(device);
  error.message[0] = '\0';
  return call();
}

}  // namespace tbk
