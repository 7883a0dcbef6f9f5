// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/routes.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace tbk {
namespace {

constexpr int kDtypes = static_cast<int>(at::ScalarType::Undefined) + 1;
constexpr int kAnyRoute = -1;

int route_from_environment() {
  const char* value = std::getenv("TBK_ROUTE");
  if (value == nullptr || *value == '\0') return kAnyRoute;
  return static_cast<int>(route_of(value, "TBK_ROUTE"));
}

std::atomic<int>& forced() {
  static std::atomic<int> value(route_from_environment());
  return value;
}

thread_local int compositions = 0;

}  // namespace

class OperatorCounter {
 public:
  /// Counts what one device has done of the operator.
  struct Page {
    std::array<std::array<std::atomic<uint64_t>, kDtypes>, kRouteCount> calls{};
  };

  ~OperatorCounter() {
    for (std::atomic<Page*>& page : pages_)
      delete page.load();
  }
  void add(Route route, c10::DeviceIndex device, at::ScalarType dtype) {
    page(device).calls[static_cast<size_t>(route)][static_cast<size_t>(dtype)].fetch_add(
        1, std::memory_order_relaxed);
  }
  template <class Visit>
  void for_each_page(Visit visit) {
    for (size_t device = 0; device < pages_.size(); device++)
      if (Page* page = pages_[device].load(std::memory_order_acquire))
        visit(static_cast<c10::DeviceIndex>(device), *page);
  }

 private:
  Page& page(c10::DeviceIndex device) {
    std::atomic<Page*>& place = pages_[static_cast<size_t>(device)];
    Page* page = place.load(std::memory_order_acquire);
    if (page != nullptr) [[likely]]
      return *page;
    auto fresh = std::make_unique<Page>();
    if (place.compare_exchange_strong(page, fresh.get())) return *fresh.release();
    return *page;  // another thread's, who was quicker
  }

  std::array<std::atomic<Page*>, 128> pages_{};
};

namespace {

struct RouteCounters {
  std::mutex lock;
  std::map<std::string, OperatorCounter> of;
};

RouteCounters& route_counters() {
  // Never destroyed: threads may still run operators while the process ends.
  static auto* instance = new RouteCounters;
  return *instance;
}

void list_page(const std::string& name, c10::DeviceIndex device, const OperatorCounter::Page& page,
               std::vector<RouteCount>& into) {
  for (int dtype = 0; dtype < kDtypes; dtype++)
    for (int route = 0; route < kRouteCount; route++) {
      const auto& calls = page.calls[static_cast<size_t>(route)][static_cast<size_t>(dtype)];
      if (const uint64_t count = calls.load(std::memory_order_relaxed))
        into.push_back(
            {name, device, static_cast<at::ScalarType>(dtype), static_cast<Route>(route), count});
    }
}

}  // namespace

Route route_of(const std::string& name, const char* what) {
  for (int i = 0; i < kRouteCount; i++)
    if (name == kRouteNames[i]) return static_cast<Route>(i);
  C10_THROW_ERROR(ValueError,
                  c10::str(what, " is '", name, "'; it is named, generic, composed or fallback"));
}

std::optional<Route> forced_route() {
  const int route = forced().load(std::memory_order_relaxed);
  return route == kAnyRoute ? std::nullopt : std::optional<Route>(static_cast<Route>(route));
}

void set_forced_route(std::optional<Route> route) {
  forced().store(route.has_value() ? static_cast<int>(*route) : kAnyRoute,
                 std::memory_order_relaxed);
}

bool is_open(Route route) {
  const int only = forced().load(std::memory_order_relaxed);
  if (only == kAnyRoute || compositions > 0) [[likely]]
    return true;
  return route == Route::fallback || only == static_cast<int>(route);
}

Composition::Composition() {
  compositions++;
}
Composition::~Composition() {
  compositions--;
}

OperatorCounter& counter_of(const std::string& name) {
  std::lock_guard<std::mutex> guard(route_counters().lock);
  return route_counters().of[name];
}

void count_call(OperatorCounter& counter, Route route, c10::DeviceIndex device,
                at::ScalarType dtype) {
  counter.add(route, device, dtype);
}

std::vector<RouteCount> route_counts() {
  std::vector<RouteCount> result;
  std::lock_guard<std::mutex> guard(route_counters().lock);
  for (auto& [name, counter] : route_counters().of)
    counter.for_each_page([&](c10::DeviceIndex device, const OperatorCounter::Page& page) {
      list_page(name, device, page, result);
    });
  return result;
}

void reset_route_counts() {
  std::lock_guard<std::mutex> guard(route_counters().lock);
  for (auto& [name, counter] : route_counters().of)
    counter.for_each_page([](c10::DeviceIndex, OperatorCounter::Page& page) {
      for (auto& calls : page.calls)
        for (std::atomic<uint64_t>& count : calls)
          count.store(0, std::memory_order_relaxed);
    });
}

}  // namespace tbk
