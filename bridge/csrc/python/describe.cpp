// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <python/describe.h>
#include <runtime/backend.h>
#include <runtime/capabilities.h>
#include <runtime/host_allocator.h>

#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace tbk {
namespace {

py::frozenset dtypes_of(uint64_t mask) {
  py::set dtypes;
#define TBK_ADD_DTYPE(name, value, size) \
  if ((mask >> (value)) & 1) dtypes.add(py::cast(static_cast<at::ScalarType>(value)));
  TBK_DTYPE_MAP(TBK_ADD_DTYPE)
#undef TBK_ADD_DTYPE
  return py::frozenset(dtypes);
}

void add_stat(py::dict& to, const std::string& name, const c10::CachingAllocator::Stat& stat) {
  auto key = [&name](const char* kind) { return py::str(name + "." + kind); };
  to[key("current")] = stat.current;
  to[key("peak")] = stat.peak;
  to[key("allocated")] = stat.allocated;
  to[key("freed")] = stat.freed;
}

}  // namespace

py::dict describe_properties(c10::DeviceIndex device) {
  const DeviceState& state = Backend::get().device(device);
  const tbk_device_properties_t& properties = state.properties;
  auto has = [&properties](uint64_t flag) { return (properties.flags & flag) != 0; };
  py::dict result;
  result["name"] = state.name;
  result["driver"] = state.driver;
  result["total_memory"] = properties.memory_bytes;
  result["max_allocation_bytes"] = properties.max_allocation_bytes;
  result["memory_alignment"] = properties.memory_alignment;
  result["copy_granularity"] = properties.copy_granularity;
  result["dtypes"] = dtypes_of(properties.dtypes);
  result["max_rank"] = properties.max_rank;
  result["priority_range"] =
      py::make_tuple(properties.priority_least, properties.priority_greatest);
  result["flat_address"] = has(TBK_DEVICE_FLAT_ADDRESS);
  result["host_visible"] = has(TBK_DEVICE_HOST_VISIBLE);
  result["cross_device_wait"] = has(TBK_DEVICE_CROSS_DEVICE_WAIT);
  result["exclusive"] = has(TBK_DEVICE_EXCLUSIVE);
  result["philox"] = has(TBK_DEVICE_PHILOX);
  result["simulated"] = has(TBK_DEVICE_SIMULATED);
  return result;
}

py::list describe_capabilities(c10::DeviceIndex device) {
  auto rows = [device] {
    py::gil_scoped_release no_gil;
    return capabilities(device);
  }();
  py::list result;
  for (const Capability& row : rows)
    result.append(py::make_tuple(row.feature, row.source, row.detail));
  return result;
}

py::dict describe_host_memory() {
  at::HostStats stats = host_allocator().get_stats();
  py::dict result;
  add_stat(result, "active_requests", stats.active_requests);
  add_stat(result, "active_bytes", stats.active_bytes);
  add_stat(result, "allocations", stats.allocations);
  add_stat(result, "allocated_bytes", stats.allocated_bytes);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  return result;
}

}  // namespace tbk
