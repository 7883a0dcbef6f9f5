// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/fallback.h>
#include <aten/kernels_plan.h>
#include <aten/routes.h>
#include <generic/program.h>
#include <python/custom.h>
#include <python/describe.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/device_allocator.h>
#include <runtime/error.h>
#include <runtime/generator.h>
#include <runtime/host_allocator.h>
#include <runtime/stream.h>

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/version.h>

namespace py = pybind11;

namespace tbk {
namespace {

/// Checked, and as PyTorch's type.
c10::DeviceIndex device_index(int64_t device) {
  auto index = static_cast<int>(std::clamp<int64_t>(device, -1, max_devices));
  Backend::get().device(index);
  return static_cast<c10::DeviceIndex>(index);
}

std::string load(const std::string& path, const std::string& options, const py::function& check) {
  auto check_name = [&check](const std::string& name) {
    py::gil_scoped_acquire gil;
    check(name);
  };
  // These raise here, and not in some operator, where TBK_FALLBACK or TBK_ROUTE is not understood.
  fallback_mode();
  forced_route();
  py::gil_scoped_release no_gil;
  return Backend::load(path, options, check_name).name();
}

bool peer_can_access(int64_t device, int64_t peer) {
  const Backend& backend = Backend::get();
  int from = device_index(device), to = device_index(peer);
  if (!backend.tables().has_peer) return false;
  ErrorBuffer error;
  int32_t can = 0;
  check(backend.tables().peer.peer_can_access(backend.instance(), from, to, &can, &error), error,
        "peer_can_access", from);
  return can != 0;
}

int exchange_device(int64_t device) {
  c10::DeviceIndex index = device_index(device);
  c10::DeviceIndex previous = current_device();
  set_current_device(index);
  return previous;
}

int64_t stream_from_native(int64_t device, uintptr_t handle) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number is what Python can hold of it
  return tbk::stream_from_native(device_index(device), reinterpret_cast<void*>(handle)).id;
}

int stream_priority(int64_t device, int64_t id) {
  const c10::Device place(c10::kPrivateUse1, device_index(device));
  return find_stream(c10::Stream(c10::Stream::UNSAFE, place, id)).priority;
}

py::object default_generator(int64_t device) {
  const at::Generator& generator = tbk::default_generator(device_index(device));
  return py::reinterpret_steal<py::object>(THPGenerator_Wrap(generator));
}

py::list fallback_rows() {
  py::list rows;
  for (const FallbackCount& row : fallbacks())
    rows.append(py::make_tuple(row.operator_name, static_cast<int>(row.device), row.count));
  return rows;
}

constexpr std::pair<FallbackMode, const char*> mode_names[] = {
    {FallbackMode::silent, "silent"}, {FallbackMode::warn, "warn"}, {FallbackMode::error, "error"}};

std::string mode_name() {
  for (auto [mode, name] : mode_names)
    if (mode == fallback_mode()) return name;
  TORCH_INTERNAL_ASSERT(false, "a fallback mode without a name");
}

void set_mode_by_name(const std::string& wanted) {
  for (auto [mode, name] : mode_names)
    if (wanted == name) return set_fallback_mode(mode);
  TORCH_CHECK_VALUE(false, "there is no fallback mode '", wanted, "', only silent, warn and error");
}

py::list route_rows() {
  py::list rows;
  for (const RouteCount& row : route_counts()) {
    const bool has_dtype = row.dtype != at::ScalarType::Undefined;
    const py::object dtype = has_dtype
                                 ? py::reinterpret_borrow<py::object>(
                                       reinterpret_cast<PyObject*>(torch::getTHPDtype(row.dtype)))
                                 : py::none();
    rows.append(py::make_tuple(row.operator_name, static_cast<int>(row.device), dtype,
                               kRouteNames[static_cast<int>(row.route)], row.count));
  }
  return rows;
}

py::tuple plan_row() {
  const PlanCounts counts = plan_counts();
  return py::make_tuple(generic::program_count(), counts.made, counts.kept);
}

std::optional<std::string> route_name() {
  const std::optional<Route> route = forced_route();
  if (!route.has_value()) return std::nullopt;
  return kRouteNames[static_cast<int>(*route)];
}

void set_route_by_name(const std::optional<std::string>& wanted) {
  if (!wanted.has_value()) return set_forced_route(std::nullopt);
  set_forced_route(route_of(*wanted, "the route"));
}

/// What calls the backend, waits, or takes a lock under which the backend is called, is defined by
/// `waiting`, without the GIL.
class Definer {
 public:
  explicit Definer(py::module_& module) : module_(module) {}

  template <typename Function, typename... Extra>
  void quick(const char* name, Function function, const Extra&... extra) {
    module_.def(name, torch::wrap_pybind_function(function), extra...);
  }
  template <typename Function, typename... Extra>
  void waiting(const char* name, Function function, const Extra&... extra) {
    module_.def(name, torch::wrap_pybind_function_no_gil(function), extra...);
  }

 private:
  py::module_& module_;
};

void define_backend(Definer def) {
  def.quick("load", load, py::arg("path"), py::arg("options"), py::arg("check_name"));
  def.quick("name", [] { return Backend::get().name(); });
  def.quick("version", [] { return Backend::get().version(); });
  def.quick("path", [] { return Backend::get().path(); });
  def.quick("launch_custom", launch_custom, py::arg("name"), py::arg("version"),
            py::arg("arguments"));
}

void define_devices(Definer def) {
  py::arg device("device");
  def.quick("device_count", [] { return Backend::get().device_count(); });
  def.quick("is_counted", [] { return Backend::get().is_counted(); });
  def.quick(
      "check_device", [](int64_t d) { device_index(d); }, device);
  def.quick(
      "properties", [](int64_t d) { return describe_properties(device_index(d)); }, device);
  def.quick(
      "capabilities", [](int64_t d) { return describe_capabilities(device_index(d)); }, device);
  def.waiting("peer_can_access", peer_can_access, device, py::arg("peer"));
  def.quick(
      "is_open", [](int64_t d) { return Backend::get().is_open(device_index(d)); }, device);
  def.waiting(
      "ensure_open", [](int64_t d) { Backend::get().ensure_open(device_index(d)); }, device);
  def.quick("in_bad_fork", [] { return Backend::in_bad_fork(); });
  def.quick("current_device", [] { return static_cast<int>(current_device()); });
  def.quick("exchange_device", exchange_device, device);
  def.waiting(
      "synchronize", [](int64_t d) { synchronize_device(device_index(d)); }, device);
  def.waiting("stream_from_native", stream_from_native, device, py::arg("handle"));
  def.quick("stream_priority", stream_priority, device, py::arg("stream_id"));
  def.quick("default_generator", default_generator, device);
  def.quick("seed_default_generators", seed_default_generators, py::arg("seed"));
}

void define_memory(Definer def) {
  py::arg device("device");
  def.waiting(
      "set_memory_limit",
      [](int64_t d, uint64_t bytes) {
        device_allocator().set_memory_limit(device_index(d), bytes);
      },
      device, py::arg("size"));
  def.waiting(
      "memory_limit", [](int64_t d) { return device_allocator().memory_limit(device_index(d)); },
      device);
  def.quick("host_memory_stats", describe_host_memory);
  def.waiting("reset_accumulated_host_memory_stats",
              [] { host_allocator().reset_accumulated_stats(); });
  def.waiting("reset_peak_host_memory_stats", [] { host_allocator().reset_peak_stats(); });
  def.waiting("empty_host_cache", [] { host_allocator().empty_cache(); });
}

void define_fallback(Definer def) {
  def.quick("fallbacks", fallback_rows);
  def.quick("reset_fallbacks", reset_fallbacks);
  def.quick("fallback_mode", mode_name);
  def.quick("set_fallback_mode", set_mode_by_name, py::arg("mode"));
  def.quick("routes", route_rows);
  def.quick("reset_routes", reset_route_counts);
  def.quick("plans", plan_row);
  def.quick("forced_route", route_name);
  def.quick("set_forced_route", set_route_by_name, py::arg("route"));
}

}  // namespace
}  // namespace tbk

PYBIND11_MODULE(_C, module) {
  module.doc() = "The compiled part of torch_tbk.";
  module.attr("torch_version") = TORCH_VERSION;
  tbk::Definer def(module);
  tbk::define_backend(def);
  tbk::define_devices(def);
  tbk::define_memory(def);
  tbk::define_fallback(def);
}
