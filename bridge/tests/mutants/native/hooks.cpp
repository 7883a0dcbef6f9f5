// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// PyTorch's hooks of the device.
#include <c10/core/StorageImpl.h>
#include <registered.h>

// Python's own. Weak, because the library is not linked with it.
extern "C" {
[[gnu::weak]] int PyGILState_Ensure();
[[gnu::weak]] void PyGILState_Release(int state);
}

namespace tbk::mutants {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::kPrivateUse1;

constexpr Mutant table[] = {
    {"context_never", on_hooks<&Hooks::hasPrimaryContext, [](auto, DeviceIndex) { return false; }>},
    {"hooks_count_is_one_less",
     on_hooks<&Hooks::deviceCount,
              [](auto count) { return static_cast<DeviceIndex>(count() - 1); }>},
    {"hooks_count_raises",
     on_hooks<&Hooks::deviceCount,
              [](auto) -> DeviceIndex { TORCH_CHECK(false, "the driver does not answer"); }>},
    {"pinned_always", on_hooks<&Hooks::isPinnedPtr, [](auto, const void*) { return true; }>},
    {"pinned_never", on_hooks<&Hooks::isPinnedPtr, [](auto, const void*) { return false; }>},
    {"pinned_raises", on_hooks<&Hooks::isPinnedPtr,
                               [](auto is, const void* data) {
                                 const bool pinned = is(data);
                                 TORCH_CHECK(pinned, "not a pointer of ours");
                                 return pinned;
                               }>},
    {"pinned_raises_for_null", on_hooks<&Hooks::isPinnedPtr,
                                        [](auto is, const void* data) {
                                          TORCH_CHECK(data != nullptr, "a null pointer");
                                          return is(data);
                                        }>},
    {"is_pinned_sets_device", on_hooks<&Hooks::isPinnedPtr,
                                       [](auto is, const void* data) {
                                         guard().setDevice(Device(kPrivateUse1, 0));
                                         return is(data);
                                       }>},
    {"pin_memory_does_not_pin",
     on_hooks<&Hooks::getPinnedMemoryAllocator, [](auto) { return c10::GetAllocator(c10::kCPU); }>},
    {"device_of_pointer_is_0",
     on_hooks<&Hooks::getDeviceFromPtr, [](auto, void*) { return Device(kPrivateUse1, 0); }>},
    {"device_of_pointer_is_current",
     on_hooks<&Hooks::getDeviceFromPtr, [](auto, void*) { return guard().getDevice(); }>},
    {"device_of_pointer_only_at_the_start", on_hooks<&Hooks::getDeviceFromPtr,
                                                     [](auto find, void* data) {
                                                       const Device found = find(data);
                                                       bool start = false;
                                                       try {
                                                         find(static_cast<char*>(data) - 1);
                                                       } catch (const c10::Error&) {
                                                         start = true;
                                                       }
                                                       TORCH_CHECK(
                                                           start, "not the start of an allocation");
                                                       return found;
                                                     }>},
    {"device_of_pointer_takes_gil", on_hooks<&Hooks::getDeviceFromPtr,
                                             [](auto find, void* data) {
                                               PyGILState_Release(PyGILState_Ensure());
                                               return find(data);
                                             }>},
    {"device_of_any_pointer", on_hooks<&Hooks::getDeviceFromPtr,
                                       [](auto find, void* data) {
                                         try {
                                           return find(data);
                                         } catch (const c10::Error&) {
                                           return Device(kPrivateUse1, 0);
                                         }
                                       }>},
    {"new_generator_is_default", on_hooks<&Hooks::getNewGenerator,
                                          [](auto, DeviceIndex device) {
                                            return at::Generator(
                                                hooks().getDefaultGenerator(device));
                                          }>},
    {"new_generator_on_device_0",
     on_hooks<&Hooks::getNewGenerator, [](auto make, DeviceIndex) { return make(0); }>},
    {"new_generator_takes_any_index",
     on_hooks<&Hooks::getNewGenerator,
              [](auto make, DeviceIndex device) {
                return make(device < guard().deviceCount() ? device : DeviceIndex{0});
              }>},
    {"resize_of_storage_does_nothing",
     on_hooks<&Hooks::resizePrivateUse1Bytes, [](auto, const c10::Storage&, size_t) {}>},
    {"resize_of_storage_loses_all",
     on_hooks<&Hooks::resizePrivateUse1Bytes,
              [](auto resize, const c10::Storage& storage, size_t bytes) {
                resize(storage, 0);
                resize(storage, bytes);
              }>},
    {"resize_of_storage_never_shrinks",
     on_hooks<&Hooks::resizePrivateUse1Bytes,
              [](auto resize, const c10::Storage& storage, size_t bytes) {
                if (storage.nbytes() < bytes) resize(storage, bytes);
              }>},
    {"resize_of_storage_refuses_0",
     on_hooks<&Hooks::resizePrivateUse1Bytes,
              [](auto resize, const c10::Storage& storage, size_t bytes) {
                TORCH_CHECK(bytes != 0, "no bytes");
                resize(storage, bytes);
              }>},
};

}  // namespace

Mutants hooks_mutants() {
  return all_of(table);
}

}  // namespace tbk::mutants
