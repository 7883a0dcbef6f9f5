// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The guard's devices: how many, and which one is current.
#include <c10/util/Exception.h>
#include <registered.h>

#include <atomic>

namespace tbk::mutants {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::kPrivateUse1;

// A destructor may run long after what is written here is over, so nothing has one.
std::atomic<int> shared_device{0};
thread_local bool thread_is_known = false;

Device current(int index) {
  return Device(kPrivateUse1, static_cast<DeviceIndex>(index));
}

bool is_beyond(Device device) {
  return device.index() >= c10::impl::getDeviceGuardImpl(kPrivateUse1)->deviceCount();
}

void share_current_device() {
  on_guard<&Guard::getDevice, [](auto) { return current(shared_device); }>();
  on_guard<&Guard::setDevice, [](auto set, Device device) {
    set(device);
    shared_device = device.index();
  }>();
  on_guard<&Guard::uncheckedSetDevice, [](auto set, Device device) {
    set(device);
    if (device.index() >= 0) shared_device = device.index();
  }>();
  on_guard<&Guard::exchangeDevice, [](auto exchange, Device device) {
    exchange(device);
    return current(shared_device.exchange(device.index()));
  }>();
}

/// A thread that nobody has used a device in begins on the last device that anybody has set.
void inherit_device() {
  on_guard<&Guard::setDevice, [](auto set, Device device) {
    thread_is_known = true;
    set(device);
    shared_device = device.index();
  }>();
  on_guard<&Guard::getDevice, [](auto get) {
    if (!thread_is_known) {
      thread_is_known = true;
      c10::impl::getDeviceGuardImpl(kPrivateUse1)->uncheckedSetDevice(current(shared_device));
    }
    return get();
  }>();
}

constexpr Mutant table[] = {
    {"guard_count_is_zero", on_guard<&Guard::deviceCount, [](auto) { return DeviceIndex{0}; }>},
    {"get_device_beyond_count",
     on_guard<&Guard::getDevice, [](auto get) { return current(get().index() + 100); }>},
    {"get_device_of_cpu", on_guard<&Guard::getDevice, [](auto) { return Device(c10::kCPU); }>},
    {"current_device_is_shared", share_current_device},
    {"threads_inherit_device", inherit_device},
    {"set_device_clamps",
     on_guard<&Guard::setDevice,
              [](auto set, Device device) { set(is_beyond(device) ? current(0) : device); }>},
    {"set_device_ignores_range", on_guard<&Guard::setDevice,
                                          [](auto set, Device device) {
                                            if (!is_beyond(device)) set(device);
                                          }>},
    {"set_device_raises_after_change", on_guard<&Guard::setDevice,
                                                [](auto set, Device device) {
                                                  if (is_beyond(device)) set(current(0));
                                                  set(device);
                                                }>},
    {"unchecked_set_device_opens",
     on_guard<&Guard::uncheckedSetDevice,
              [](auto set, Device device) {
                set(device);
                c10::impl::getDeviceGuardImpl(kPrivateUse1)->getNewStream(current(0));
              }>},
    {"set_same_device_raises",
     on_guard<&Guard::setDevice,
              [](auto set, Device device) {
                const auto* guard = c10::impl::getDeviceGuardImpl(kPrivateUse1);
                TORCH_CHECK(guard->getDevice() != device, "is current already");
                set(device);
              }>},
    {"set_device_does_nothing", on_guard<&Guard::setDevice, [](auto, Device) {}>},
    {"exchange_device_gives_new", on_guard<&Guard::exchangeDevice,
                                           [](auto exchange, Device device) {
                                             exchange(device);
                                             return device;
                                           }>},
    {"exchange_device_gives_0", on_guard<&Guard::exchangeDevice,
                                         [](auto exchange, Device device) {
                                           exchange(device);
                                           return current(0);
                                         }>},
    {"exchange_device_does_nothing",
     on_guard<&Guard::exchangeDevice,
              [](auto, Device) {
                return c10::impl::getDeviceGuardImpl(kPrivateUse1)->getDevice();
              }>},
    {"guard_does_not_restore", on_guard<&Guard::uncheckedSetDevice, [](auto, Device) {}>},
    {"guard_restores_0",
     on_guard<&Guard::uncheckedSetDevice, [](auto set, Device) { set(current(0)); }>},
    {"capability_takes_any_device",
     on_guard<&Guard::getDeviceCapability, [](auto get, Device) { return get(current(0)); }>},
    {"capability_claims_all", on_guard<&Guard::getDeviceCapability,
                                       [](auto get, Device device) {
                                         auto capability = get(device);
                                         capability.capability_data.capability_bits = ~UINT64_C(0);
                                         return capability;
                                       }>},
    {"capability_lacks_float", on_guard<&Guard::getDeviceCapability,
                                        [](auto get, Device device) {
                                          auto capability = get(device);
                                          auto& has = capability.capability_data;
                                          has.supported_scalar_types.has_Float = 0;
                                          return capability;
                                        }>},
};

}  // namespace

Mutants guard_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
