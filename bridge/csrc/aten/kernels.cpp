// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/kernels.h>
#include <aten/kernels_plan.h>
#include <aten/kernels_room.h>
#include <c10/util/Exception.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>
#include <runtime/error.h>

namespace tbk {
namespace {

constexpr uintptr_t kNotAsked = 0;
constexpr uintptr_t kNotOffered = 1;

uintptr_t ask(const char* name, uint32_t version, c10::DeviceIndex device) {
  const Backend& backend = Backend::get();
  const tbk_kernel_t* kernel = nullptr;
  if (backend.tables().has_kernel && backend.tables().kernel.kernel_find != nullptr)
    kernel = backend.tables().kernel.kernel_find(backend.instance(), device, name, version);
  const bool usable = TBK_HAS(kernel, tbk_kernel_t, launch);
  return usable ? reinterpret_cast<uintptr_t>(kernel) : kNotOffered;
}

bool has_plans(const tbk_kernel_t* kernel) {
  return TBK_HAS(kernel, tbk_kernel_t, prepare) && TBK_HAS(kernel, tbk_kernel_t, launch_plan) &&
         TBK_HAS(kernel, tbk_kernel_t, plan_destroy);
}

bool has_dtype(const tbk_device_properties_t& properties, int32_t dtype) {
  return dtype < TBK_DTYPE_LIMIT && (properties.dtypes >> static_cast<unsigned>(dtype) & 1) != 0;
}

/// What align_memory() could not align: the storage begins in the middle of an element.
bool is_unaligned(const DeviceState& device, const tbk_tensor_t& tensor) {
  return device.flat_address() && (tensor.memory & (device.properties.memory_alignment - 1)) != 0;
}

bool accepts(const DeviceState& device, c10::ArrayRef<const tbk_tensor_t*> tensors) {
  for (const tbk_tensor_t* tensor : tensors)
    if (!has_dtype(device.properties, tensor->dtype) || tensor->rank > device.properties.max_rank ||
        is_unaligned(device, *tensor))
      return false;
  return true;
}

bool launch_at_once(const tbk_kernel_t* kernel, c10::DeviceIndex device, const void* arguments,
                    Stream& stream) {
  ErrorBuffer error;
  tbk_instance_t* instance = Backend::get().instance();
  tbk_status_t status = with_room(device, error, [&] {
    return kernel->launch(instance, device, kernel, arguments, stream.handle, &error);
  });
  if (status == TBK_UNSUPPORTED) return false;
  check(status, error, "launch", device);
  return true;
}

bool launch_planned(const tbk_kernel_t* kernel, c10::DeviceIndex device, const void* arguments,
                    Stream& stream, const PlanKey& key) {
  std::shared_ptr<const Plan> plan = find_plan(kernel, device, arguments, key);
  if (plan == nullptr) return false;
  // The block goes back to the cache of this stream, whose next work comes after this.
  c10::DataPtr workspace;
  if (plan->workspace_bytes > 0)
    workspace = device_allocator().allocate_on(device, plan->workspace_bytes);
  ErrorBuffer error;
  tbk_instance_t* instance = Backend::get().instance();
  const tbk_memory_t memory = handle_of(workspace.get());
  tbk_status_t status = with_room(device, error, [&] {
    return kernel->launch_plan(instance, device, plan->handle, arguments, memory, 0, stream.handle,
                               &error);
  });
  check(status, error, "launch_plan", device);
  return true;
}

}  // namespace

void align_memory(tbk_tensor_t& description, c10::DeviceIndex device) {
  const DeviceState& state = Backend::get().device(device);
  if (!state.flat_address()) return;
  const uint64_t beyond = description.memory & (state.properties.memory_alignment - 1);
  const auto element = c10::elementSize(static_cast<c10::ScalarType>(description.dtype));
  if (beyond % element != 0) return;  // launch() refuses it
  description.memory -= beyond;
  description.storage_bytes += beyond;
  description.offset += static_cast<int64_t>(beyond / element);
}

const tbk_kernel_t* Kernel::find(c10::DeviceIndex device) {
  if (!is_generic() && !is_open(Route::named)) [[unlikely]]
    return nullptr;
  std::atomic<uintptr_t>& found = found_[static_cast<size_t>(device)];
  uintptr_t value = found.load(std::memory_order_acquire);
  if (value == kNotAsked) [[unlikely]] {
    // Two threads may ask at once: the answer is the same each time.
    value = ask(name_, version_, device);
    found.store(value, std::memory_order_release);
  }
  return value == kNotOffered ? nullptr : reinterpret_cast<const tbk_kernel_t*>(value);
}

void Kernel::count(c10::DeviceIndex device, int32_t dtype) {
  OperatorCounter* counter = counter_.load(std::memory_order_acquire);
  if (counter == nullptr) [[unlikely]] {
    const std::string name = name_;
    const bool is_custom = name.find("::") != std::string::npos;  // "acme::swish"
    counter = &counter_of(is_custom ? name : "aten::" + name);
    counter_.store(counter, std::memory_order_release);
  }
  count_call(*counter, Route::named, device, static_cast<at::ScalarType>(dtype));
}

bool offers(Kernel& kernel, c10::DeviceIndex device, at::ScalarType dtype) {
  Backend& backend = Backend::get();
  backend.ensure_open(device);
  return kernel.find(device) != nullptr &&
         has_dtype(backend.device(device).properties, static_cast<int32_t>(dtype));
}

bool launch_by_key(Kernel& kernel, c10::DeviceIndex device, const void* arguments,
                   c10::ArrayRef<const tbk_tensor_t*> tensors, c10::function_ref<PlanKey()> key) {
  Stream& stream = current_stream(device);  // opens the device, or throws
  const tbk_kernel_t* offered = kernel.find(device);
  if (offered == nullptr || !accepts(Backend::get().device(device), tensors)) return false;
  stream.note(kernel.name());
  const bool is_done = has_plans(offered)
                           ? launch_planned(offered, device, arguments, stream, key())
                           : launch_at_once(offered, device, arguments, stream);
  if (is_done && !kernel.is_generic()) kernel.count(device, tensors.back()->dtype);
  return is_done;
}

bool launch(Kernel& kernel, c10::DeviceIndex device, const void* arguments,
            c10::ArrayRef<const tbk_tensor_t*> tensors, c10::ArrayRef<int64_t> others) {
  return launch_by_key(kernel, device, arguments, tensors,
                       [&] { return make_plan_key(tensors, others); });
}

}  // namespace tbk
