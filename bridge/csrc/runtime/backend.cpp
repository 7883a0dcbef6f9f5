// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/autograd.h>
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/gil.h>
#include <runtime/stream.h>
#include <runtime/text.h>

#include <c10/util/Exception.h>
#include <pthread.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tbk {
namespace {

/// Devices that are open or being opened. A fork then copies a driver that is in use.
std::atomic<int> devices_in_use{0};

int log_level() {
  const char* wanted = std::getenv("TBK_LOG");
  if (wanted == nullptr) return TBK_LOG_WARNING;
  if (std::strcmp(wanted, "debug") == 0) return TBK_LOG_DEBUG;
  return std::strcmp(wanted, "info") == 0 ? TBK_LOG_INFO : TBK_LOG_WARNING;
}

/// Called from C, on any thread: throws nothing and takes no GIL.
void log(void* /*context*/, int32_t level, const char* message) noexcept {
  static const int least = log_level();
  if (level < least || message == nullptr) return;
  try {
    const Backend* backend = Backend::get_or_null();
    const char* name = backend != nullptr ? backend->name().c_str() : "backend";
    if (level >= TBK_LOG_WARNING) {
      TORCH_WARN(name, ": ", printable(message, 1024));
    } else {
      std::fprintf(stderr, "%s: %s\n", name, message);
    }
  } catch (...) {  // a message that can't be shown is no reason to fail the call that logs it
  }
}

/// Destroys the instance unless the backend is taken into use.
class InstanceOwner {
 public:
  explicit InstanceOwner(const tbk_backend_t& backend) : backend_(&backend) {}
  ~InstanceOwner() {
    if (backend_ != nullptr) destroy_instance(*backend_);
  }
  InstanceOwner(const InstanceOwner&) = delete;
  InstanceOwner& operator=(const InstanceOwner&) = delete;
  void release() noexcept {
    backend_ = nullptr;
  }

 private:
  const tbk_backend_t* backend_;
};

int ask_count(const Tables& tables, tbk_instance_t* instance) {
  ErrorBuffer error;
  int32_t count = 0;
  tbk_status_t status = tables.core.device_count(instance, &count, &error);
  TORCH_CHECK(status == TBK_OK, "device_count: ", describe_status(status, error));
  TORCH_CHECK(count >= 0 && count <= max_devices, "device_count gives ", count,
              "; PyTorch can have 0 to ", max_devices);
  return count;
}

void check_properties(const tbk_device_properties_t& properties, const std::string& subject) {
  uint64_t alignment = properties.memory_alignment;
  uint64_t granularity = properties.copy_granularity;
  TORCH_CHECK(std::has_single_bit(alignment) && alignment >= 16, subject, "memory_alignment is ",
              alignment, ", which is no power of two from 16 up");
  TORCH_CHECK(std::has_single_bit(granularity) && granularity <= alignment, subject,
              "copy_granularity is ", granularity, ", which does not divide the alignment, ",
              alignment);
  TORCH_CHECK(properties.priority_greatest <= 0 && properties.priority_least >= 0, subject,
              "the priorities from ", properties.priority_greatest, " to ",
              properties.priority_least, " leave out 0");
}

std::unique_ptr<DeviceState> ask_properties(const Tables& tables, tbk_instance_t* instance,
                                            int index, const std::string& name) {
  auto state = std::make_unique<DeviceState>();
  std::string subject = c10::str("device_properties of ", index, ": ");
  ErrorBuffer error;
  state->properties.struct_size = sizeof state->properties;
  tbk_status_t status = tables.core.device_properties(instance, index, &state->properties, &error);
  TORCH_CHECK(status == TBK_OK, subject, describe_status(status, error));
  check_properties(state->properties, subject);
  state->name = state->properties.name != nullptr ? printable(state->properties.name, 255) : name;
  state->properties.name = state->name.c_str();
  if (state->properties.driver != nullptr)
    state->driver = printable(state->properties.driver, 1023);
  state->properties.driver = state->driver.c_str();
  return state;
}

/// The device, and its default stream; both or none.
void open_device(const Tables& tables, tbk_instance_t* instance, int index) {
  ErrorBuffer error;
  check(tables.core.device_open(instance, index, &error), error, "device_open", index);
  try {
    make_default_stream(static_cast<c10::DeviceIndex>(index));
  } catch (...) {
    ErrorBuffer ignored;
    if (tables.core.device_close(instance, index, &ignored) != TBK_OK) {
      TORCH_WARN("device_close: ", printable(ignored.message, sizeof ignored.message));
    }
    throw;
  }
}

std::string absolute(const std::string& path) {
  TORCH_CHECK_VALUE(!path.empty() && path.find('\0') == std::string::npos,
                    "the path of a backend's library is empty, or has a NUL in it");
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::atomic<Backend*> Backend::loaded_{nullptr};
void (*Backend::opened_)(c10::DeviceIndex) = nullptr;
std::atomic<bool> Backend::in_bad_fork_{false};
std::atomic<uint64_t> Backend::base_mask_{0};

Backend& Backend::load(const std::string& given_path, const std::string& options,
                       const std::function<void(const std::string&)>& check_name) {
  static std::mutex loading;
  std::lock_guard lock(loading);
  std::string path = absolute(given_path);
  if (Backend* first = get_or_null()) {
    TORCH_CHECK(first->path_ == path && first->options_ == options, "Cannot load ", path,
                ": the backend '", first->name_, "' of ", first->path_, " is loaded already",
                first->options_.empty() ? "" : " with the options ", first->options_,
                ", and PyTorch has room for one in a process");
    return *first;
  }
  std::unique_ptr<Backend> backend(new Backend);  // make_unique can't reach the constructor
  backend->path_ = path;
  backend->options_ = options;
  backend->host_ = {sizeof(tbk_host_t), TBK_ABI_VERSION, nullptr, log,
                    options.empty() ? nullptr : backend->options_.c_str()};
  const tbk_backend_t& table = create_instance(open_library(path), backend->host_, path);
  InstanceOwner owner(table);
  backend->tables_ = copy_tables(table, path);
  backend->instance_ = table.instance;
  backend->name_ = table.name;
  backend->version_ = printable(table.version, 255);
  if (check_name) check_name(backend->name_);
  watch_forks();
  note_earlier_backward();
  owner.release();
  // Never destroyed: tensors and streams may outlive every static object.
  loaded_.store(backend.release(), std::memory_order_release);
  return get();
}

/// A warning may run code of the user's, so it comes after the lock.
void Backend::count_devices() const noexcept try {
  const WithoutGil no_gil;  // who holds the lock may take seconds
  {
    const std::lock_guard lock(counting_);
    if (is_counted()) return;
    devices_.clear();  // of a count that ended for want of host memory
    try {
      const int count = ask_count(tables_, instance_);
      for (int index = 0; index < count; index++)
        devices_.push_back(ask_properties(tables_, instance_, index, name_));
    } catch (const c10::Error& error) {
      uncountable_ = error.what_without_backtrace();
    }
    if (!uncountable_.empty()) devices_.clear();
    for (const auto& device : devices_)
      if (device->flat_address())
        base_mask_.fetch_or(device->properties.memory_alignment - 1, std::memory_order_relaxed);
    counted_.store(true, std::memory_order_release);
  }
  if (!uncountable_.empty()) TORCH_WARN(name_, ": ", uncountable_, "; taken for 0 devices");
} catch (...) {  // a warning that can't be shown is no reason to fail whoever asks
}

/// A child handler may only do what a signal handler may.
void Backend::watch_forks() {
  int failed = pthread_atfork(nullptr, nullptr, [] {
    if (devices_in_use.load(std::memory_order_relaxed) > 0)
      in_bad_fork_.store(true, std::memory_order_relaxed);
  });
  TORCH_CHECK(failed == 0, "pthread_atfork: ", std::strerror(failed));
}

void Backend::open(int index) {
  TORCH_CHECK(!in_bad_fork(), "Cannot use ", name_,
              " in a forked child of a process that has used it; use the 'spawn' start method of "
              "multiprocessing, or fork before the first use");
  WithoutGil no_gil;
  if (!open_once(index)) return;
  ensure_autograd_threads(device_count());
  if (opened_ != nullptr) opened_(static_cast<c10::DeviceIndex>(index));
}

/// Returns false where it was open already.
bool Backend::open_once(int index) {
  DeviceState& state = device(index);
  std::lock_guard lock(state.opening);
  if (state.is_open.load(std::memory_order_relaxed)) return false;
  devices_in_use.fetch_add(1, std::memory_order_relaxed);
  try {
    open_device(tables_, instance_, index);
  } catch (...) {
    devices_in_use.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  state.is_open.store(true, std::memory_order_release);
  return true;
}

void Backend::raise_none_loaded() {
  TORCH_CHECK(false, "no backend is loaded: torch_tbk.load() takes the path of its library");
}

void Backend::raise_no_such_device(int index) const {
  TORCH_CHECK(false, "invalid device index ", index, ": ", name_, " has ", device_count(),
              device_count() == 1 ? " device" : " devices", uncountable_.empty() ? "" : ": ",
              uncountable_);
}

}  // namespace tbk
