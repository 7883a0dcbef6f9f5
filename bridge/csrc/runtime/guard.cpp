// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <runtime/event.h>
#include <runtime/stream.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/version.h>

#include <memory>

namespace tbk {

/// PyTorch passes on what it was given, unchecked.
c10::DeviceIndex resolve_device(c10::DeviceIndex index) {
  if (index == -1) return current_device();
  Backend::get().device(index);
  return index;
}

namespace {

c10::Device device_of(c10::DeviceIndex index) {
  return c10::Device(c10::kPrivateUse1, index);
}

c10::DeviceIndex check_device(c10::Device device) {
  TORCH_CHECK(device.is_privateuseone(), "expected a device of ", Backend::get().name(), ", not ",
              device);
  return resolve_device(device.index());
}

/// A device that is not open has the default stream and no other, and that has nothing to wait for.
bool is_untouched(const c10::Stream& stream) {
  return stream.id() == 0 && !Backend::get().is_open(check_device(stream.device()));
}

Event& event_of(void* event) {
  return *static_cast<Event*>(event);
}

/// Every dtype whose values the bridge stores and converts from and to each of the others. What has
/// no kernel is computed on the host, so the dtypes that kernels accept don't come into it.
c10::DeviceCapability make_capability() {
  c10::DeviceCapability capability;
  capability.capability_data.capability_bits = 0;
  auto& has = capability.capability_data.supported_scalar_types;
  has.has_Byte = has.has_Char = has.has_Short = has.has_Int = has.has_Long = 1;
  has.has_UInt16 = has.has_UInt32 = has.has_UInt64 = has.has_Bool = 1;
  has.has_Half = has.has_BFloat16 = has.has_Float = has.has_Double = 1;
  has.has_ComplexHalf = has.has_ComplexFloat = has.has_ComplexDouble = 1;
  has.has_Float8_e5m2 = has.has_Float8_e4m3fn = has.has_Float8_e8m0fnu = 1;
  has.has_Float8_e5m2fnuz = has.has_Float8_e4m3fnuz = 1;
  return capability;
}

/// All state is of the thread (current device and stream) or of the backend, so one object serves all.
/// Nothing here opens a device but what needs one: new streams, events, work on other streams.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return c10::kPrivateUse1;
  }

  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }
  c10::Device getDevice() const override {
    return device_of(current_device());
  }
  void setDevice(c10::Device device) const override {
    set_current_device(check_device(device));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < deviceCount()) set_current_device(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    const Backend* backend = Backend::get_or_null();
    return static_cast<c10::DeviceIndex>(backend != nullptr ? backend->device_count() : 0);
  }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    check_device(device);
    return make_capability();
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    synchronize_device(resolve_device(index));
  }

  c10::Stream getStream(c10::Device device) const override {
    c10::DeviceIndex index = check_device(device);
    return c10::Stream(c10::Stream::UNSAFE, device_of(index), current_stream_id(index));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device_of(check_device(device)));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool isHighPriority) const override {
    c10::DeviceIndex index = check_device(device);
    int highest = Backend::get().device(index).properties.priority_greatest;
    return new_stream(index, isHighPriority ? highest : 0).wrap();
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return new_stream(check_device(device), priority).wrap();
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    if (is_untouched(stream)) return getStream(stream.device());
    return exchange_stream(find_stream(stream)).wrap();
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return native_handle(find_stream(stream));
  }
  bool queryStream(const c10::Stream& stream) const override {
    return is_untouched(stream) || query(find_stream(stream));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    if (!is_untouched(stream)) synchronize(find_stream(stream));
  }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12
  bool isStreamCapturing(const c10::Stream& /*stream*/) const override {
    return false;
  }
#endif

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex /*index*/,
              const c10::EventFlag flag) const override {
    TORCH_CHECK_VALUE(
        flag == c10::EventFlag::PYTORCH_DEFAULT || flag == c10::EventFlag::BACKEND_DEFAULT,
        "unknown kind of event");
    Stream& found = find_stream(stream);
    if (*event != nullptr) return event_of(*event).record(found);
    auto made = std::make_unique<Event>(flag == c10::EventFlag::BACKEND_DEFAULT);
    made->record(found);
    *event = made.release();
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) event_of(event).wait(find_stream(stream));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || event_of(event).query();
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) event_of(event).synchronize();
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex /*index*/) const override {
    TORCH_CHECK_VALUE(start != nullptr && end != nullptr, "both events must be recorded first");
    return Event::elapsed_ms(event_of(start), event_of(end));
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*index*/) const noexcept override {
    std::unique_ptr<Event> destroyed(static_cast<Event*>(event));
  }

  void recordDataPtrOnStream(const c10::DataPtr& pointer,
                             const c10::Stream& stream) const override {
    device_allocator().recordStream(pointer, stream);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace
}  // namespace tbk
