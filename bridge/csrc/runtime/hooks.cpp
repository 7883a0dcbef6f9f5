// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/resize.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <runtime/generator.h>
#include <runtime/host_allocator.h>

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <optional>

namespace tbk {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return deviceCount() > 0;
  }
  /// False in a child that can't use what its parent opened: autograd then leaves the device alone.
  bool hasPrimaryContext(c10::DeviceIndex index) const override {
    const Backend* backend = Backend::get_or_null();
    return backend != nullptr && !Backend::in_bad_fork() && backend->is_open(index);
  }
  /// Each device is opened by what needs it first; PyTorch calls this for seeding, too.
  void init() const override {}

  c10::DeviceIndex deviceCount() const override {
    const Backend* backend = Backend::get_or_null();
    int count = backend != nullptr ? backend->device_count() : 0;
    return static_cast<c10::DeviceIndex>(count);
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    set_current_device(resolve_device(index));
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return current_device();
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex checked = resolve_device(index);
    c10::DeviceIndex previous = current_device();
    set_current_device(checked);
    return previous;
  }
  /// The bridge opens nothing for a current device, so that there is nothing to avoid.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }

  bool isPinnedPtr(const void* data) const override {
    return is_pinned(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return &host_allocator();
  }
  c10::Device getDeviceFromPtr(void* data) const override {
    std::optional<c10::DeviceIndex> index = device_allocator().owner(data);
    TORCH_CHECK(index.has_value(), data, " is not in memory of ", Backend::get().name());
    return c10::Device(c10::kPrivateUse1, *index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    return default_generator(resolve_device(index));
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return make_generator(resolve_device(index));
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const override {
    resize_storage(storage, size);
  }
};

// Never destroyed: PyTorch keeps the pointer until the process has ended.
[[maybe_unused]] const bool hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace
}  // namespace tbk
