// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tbk {

/// Says who computes a call. named: a kernel that the backend offers by the operator's name. generic:
/// one of the backend's generic kernels, with a program. composed: several programs, one after the
/// other, all on the device. fallback: PyTorch's CPU. Each call is served by one route as a whole.
enum class Route : uint8_t { named, generic, composed, fallback };
inline constexpr int kRouteCount = 4;
inline constexpr const char* kRouteNames[kRouteCount] = {"named", "generic", "composed",
                                                         "fallback"};

/// Returns the route of that name. Errors: ValueError where there is none; `what` is who asks.
Route route_of(const std::string& name, const char* what);

/// Returns or sets the one route that calls may take besides the fallback, which serves the rest;
/// none: the first of all routes that serves. The first value comes from TBK_ROUTE. For the process.
/// Errors: ValueError where TBK_ROUTE names no route.
std::optional<Route> forced_route();
void set_forced_route(std::optional<Route> route);

/// Returns whether a call may take `route`. Within a composition every route is open to its parts.
bool is_open(Route route);

/// Stands for a composition that is being run by this thread.
class Composition {
 public:
  Composition();
  ~Composition();
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;
};

/// Counts the calls of one operator; lives as long as the process.
class OperatorCounter;
/// Returns the counter of `name`, such as "aten::add.Tensor". Any thread.
OperatorCounter& counter_of(const std::string& name);
/// Counts one call. `dtype` is the result's; Undefined where there is none. Any thread.
void count_call(OperatorCounter& counter, Route route, c10::DeviceIndex device,
                at::ScalarType dtype);

/// Counts calls of one operator on one device for results of one dtype.
struct RouteCount {
  std::string operator_name;
  c10::DeviceIndex device;
  at::ScalarType dtype;
  Route route;
  uint64_t count;
};
/// Returns, or sets to zero, the calls so far, sorted by name, device, dtype and route. Any thread.
std::vector<RouteCount> route_counts();
void reset_route_counts();

}  // namespace tbk
