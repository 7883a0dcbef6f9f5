// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>
#include <runtime/tables.h>
#include <tbk/tbk.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tbk {

/// Limits the devices of a backend to what a c10::DeviceIndex can count.
inline constexpr int max_devices = 127;

/// Holds what the bridge knows of one device. Made when devices are counted, never destroyed.
struct DeviceState {
  std::atomic<bool> is_open{false};
  std::mutex opening;
  tbk_device_properties_t properties{};
  std::string name, driver;  // printable; driver may be empty

  bool flat_address() const {
    return (properties.flags & TBK_DEVICE_FLAT_ADDRESS) != 0;
  }
  bool host_visible() const {
    return (properties.flags & TBK_DEVICE_HOST_VISIBLE) != 0;
  }
};

/// Holds the backend of this process. PyTorch has one slot for a device of somebody else's
/// (PrivateUse1), so there is one, it stays, and its library is never unloaded.
/// Threads: everything but load() may be called from any thread at any time.
class Backend {
 public:
  /// Opens the library at `path`, checks what it says of itself and makes its instance. Opens no
  /// device, counts none and starts nothing. `options` is "key=value,key=value" or empty. What the
  /// library logs as a warning or an error becomes a warning of PyTorch's; the rest goes to stderr
  /// where the environment has TBK_LOG=debug or TBK_LOG=info, and nowhere else. `check_name` may
  /// refuse the backend's name by throwing; it is called before anything has changed.
  /// Errors: ValueError for a file that is no backend, and where the backend refuses the options;
  /// RuntimeError where another backend is loaded already. Then nothing has changed, and another
  /// library may be tried. Loading the same path with the same options again gives the same
  /// backend.
  static Backend& load(const std::string& path, const std::string& options,
                       const std::function<void(const std::string&)>& check_name = {});

  /// Returns the loaded backend. Errors: RuntimeError where there is none.
  static Backend& get() {
    Backend* backend = loaded_.load(std::memory_order_acquire);
    if (backend == nullptr) [[unlikely]]
      raise_none_loaded();
    return *backend;
  }
  /// Returns the loaded backend, or NULL.
  static Backend* get_or_null() noexcept {
    return loaded_.load(std::memory_order_acquire);
  }

  /// What follows stays as it is once the backend is loaded.
  const Tables& tables() const {
    return tables_;
  }
  const tbk_core_t& core() const {
    return tables_.core;
  }
  tbk_instance_t* instance() const {
    return instance_;
  }
  const std::string& name() const {
    return name_;
  }
  const std::string& version() const {
    return version_;
  }
  const std::string& path() const {
    return path_;
  }
  /// Returns how many devices there are, from 0; never changes. The first call asks the backend,
  /// which may start its driver, so that a process may fork until then. Lets go of the GIL. Where
  /// the backend's answer won't do there are 0 devices: a warning of PyTorch's says why, and so
  /// does each use.
  int device_count() const noexcept {
    if (!is_counted()) [[unlikely]]
      count_devices();
    return static_cast<int>(devices_.size());
  }
  /// Returns whether device_count() was asked; until then no device is open.
  bool is_counted() const noexcept {
    return counted_.load(std::memory_order_acquire);
  }
  /// Returns what is known of device `index`. Errors: RuntimeError for an index out of range, which
  /// names it and the count.
  DeviceState& device(int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      raise_no_such_device(index);
    return *devices_[static_cast<size_t>(index)];
  }
  /// Opens device `index` unless it is open. Every path to the device leads here. Lets go of the
  /// GIL.
  /// Errors: those of device(); RuntimeError in a child forked after a device was opened; what
  /// device_open answers.
  void ensure_open(int index) {
    if (!device(index).is_open.load(std::memory_order_acquire) || in_bad_fork()) [[unlikely]]
      open(index);
  }
  /// Has `call` called with each device that was opened, before whoever opened it goes on. Called
  /// while the process starts, once.
  static void when_opened(void (*call)(c10::DeviceIndex)) noexcept {
    opened_ = call;
  }
  /// Returns whether device `index` is open; false for an index out of range. Counts no devices.
  bool is_open(int index) const noexcept {
    return is_counted() && index >= 0 && index < device_count() &&
           devices_[static_cast<size_t>(index)]->is_open.load(std::memory_order_acquire);
  }
  /// Returns true in a process that was forked after its parent had opened a device.
  static bool in_bad_fork() noexcept {
    return in_bad_fork_.load(std::memory_order_relaxed);
  }

  /// Returns the bits that an aligned address has not set, of all devices with flat addresses
  /// together; 0 before devices are counted, and without such a device.
  static uint64_t base_mask() noexcept {
    return base_mask_.load(std::memory_order_relaxed);
  }

  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

 private:
  Backend() = default;
  void count_devices() const noexcept;
  void open(int index);
  bool open_once(int index);
  static void watch_forks();
  [[noreturn]] static void raise_none_loaded();
  [[noreturn]] void raise_no_such_device(int index) const;

  static std::atomic<Backend*> loaded_;
  static std::atomic<bool> in_bad_fork_;
  static void (*opened_)(c10::DeviceIndex);
  static std::atomic<uint64_t> base_mask_;

  tbk_host_t host_{};  // the instance keeps its address
  Tables tables_;
  tbk_instance_t* instance_ = nullptr;
  std::string name_, version_, path_, options_;

  mutable std::mutex counting_;
  mutable std::atomic<bool> counted_{false};
  // Written under the lock, once, before counted_ is true.
  mutable std::vector<std::unique_ptr<DeviceState>> devices_;
  mutable std::string uncountable_;  // why the backend's answer won't do
};

}  // namespace tbk
