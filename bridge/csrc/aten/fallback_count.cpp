// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/fallback.h>
#include <aten/fallback_count.h>
#include <aten/routes.h>
#include <c10/util/Exception.h>
#include <runtime/backend.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace tbk {
namespace {

struct Counter {
  std::string name;
  OperatorCounter* routes = nullptr;
  std::array<std::atomic<uint64_t>, 128> by_device{};
  std::atomic<bool> has_warned{false};
};

struct Counters {
  std::mutex lock;
  // By address, which is quick; an operator that was taken away may leave its address to another.
  std::unordered_map<const c10::FunctionSchema*, Counter*> by_schema;
  std::unordered_map<std::string, Counter> by_name;
};

Counters& counters() {
  // Never destroyed: threads may still run operators while the process ends.
  static Counters* instance = new Counters;
  return *instance;
}

FallbackMode mode_from_environment() {
  const char* value = std::getenv("TBK_FALLBACK");
  if (value == nullptr || std::strcmp(value, "silent") == 0) return FallbackMode::silent;
  if (std::strcmp(value, "warn") == 0) return FallbackMode::warn;
  if (std::strcmp(value, "error") == 0) return FallbackMode::error;
  C10_THROW_ERROR(ValueError,
                  c10::str("TBK_FALLBACK is '", value, "'; it is silent, warn or error"));
}

std::atomic<FallbackMode>& mode() {
  static std::atomic<FallbackMode> value(mode_from_environment());
  return value;
}

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

bool is_named(const std::string& full, const c10::OperatorName& name) {
  const size_t base = name.name.size();
  if (full.compare(0, base, name.name) != 0) return false;
  if (name.overload_name.empty()) return full.size() == base;
  return full.size() > base && full[base] == '.' &&
         full.compare(base + 1, std::string::npos, name.overload_name) == 0;
}

Counter& find_counter(const c10::OperatorHandle& op) {
  Counters& all = counters();
  std::lock_guard<std::mutex> guard(all.lock);
  Counter*& counter = all.by_schema[&op.schema()];
  if (counter == nullptr || !is_named(counter->name, op.operator_name())) {
    std::string name = full_name(op.operator_name());
    counter = &all.by_name[name];
    counter->name = std::move(name);
    counter->routes = &counter_of(counter->name);
  }
  return *counter;
}

/// Without the lock where this thread counts the same operator again.
Counter& fallback_counter(const c10::OperatorHandle& op) {
  static thread_local const c10::FunctionSchema* schema = nullptr;
  static thread_local Counter* counter = nullptr;
  if (schema != &op.schema() || !is_named(counter->name, op.operator_name())) {
    counter = &find_counter(op);
    schema = &op.schema();
  }
  return *counter;
}

}  // namespace

const char* count_fallback(const c10::OperatorHandle& op, c10::DeviceIndex device,
                           at::ScalarType dtype) {
  const FallbackMode now = fallback_mode();
  if (now == FallbackMode::error) [[unlikely]]
    C10_THROW_ERROR(
        NotImplementedError,
        c10::str(full_name(op.operator_name()), ": the backend '", Backend::get().name(),
                 "' does not offer it, and the fallback to the CPU is switched off"));
  Counter& counter = fallback_counter(op);
  counter.by_device[static_cast<size_t>(device)].fetch_add(1, std::memory_order_relaxed);
  count_call(*counter.routes, Route::fallback, device, dtype);
  if (now == FallbackMode::warn && !counter.has_warned.exchange(true)) [[unlikely]]
    TORCH_WARN(counter.name, " runs on the CPU: the backend '", Backend::get().name(),
               "' does not offer it");
  return counter.name.c_str();
}

FallbackMode fallback_mode() {
  return mode().load(std::memory_order_relaxed);
}

void set_fallback_mode(FallbackMode value) {
  mode().store(value, std::memory_order_relaxed);
}

std::vector<FallbackCount> fallbacks() {
  std::vector<FallbackCount> result;
  {
    std::lock_guard<std::mutex> guard(counters().lock);
    for (const auto& [name, counter] : counters().by_name)
      for (size_t device = 0; device < counter.by_device.size(); device++)
        if (const uint64_t count = counter.by_device[device].load(std::memory_order_relaxed))
          result.push_back({name, static_cast<c10::DeviceIndex>(device), count});
  }
  std::sort(result.begin(), result.end(), [](const FallbackCount& a, const FallbackCount& b) {
    if (a.count != b.count) return a.count > b.count;
    return a.operator_name != b.operator_name ? a.operator_name < b.operator_name
                                              : a.device < b.device;
  });
  return result;
}

void reset_fallbacks() {
  std::lock_guard<std::mutex> guard(counters().lock);
  // The entries stay: their names are borrowed, and what was warned about once is known.
  for (auto& [name, counter] : counters().by_name)
    for (std::atomic<uint64_t>& count : counter.by_device)
      count.store(0, std::memory_order_relaxed);
}

}  // namespace tbk
