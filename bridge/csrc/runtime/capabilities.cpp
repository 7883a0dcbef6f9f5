// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/capabilities.h>
#include <tbk/tbk_operators.h>

#include <c10/util/StringUtil.h>

namespace tbk {
namespace {

constexpr const char* by_backend = "native";
constexpr const char* bridge = "bridge";
constexpr const char* none = "none";

struct KernelName {
  const char* name;
  uint32_t version;
};

/// Every operator that tbk_operators.h has arguments for.
#define KERNEL_NAME(op) {TBK_NAME_##op, TBK_VERSION_##op},
constexpr KernelName kernel_names[] = {TBK_OPERATOR_MAP(KERNEL_NAME)};
#undef KERNEL_NAME

using Rows = std::vector<Capability>;

/// `present` where the backend serves the feature, else `absent` with who does.
void add(Rows& rows, const char* feature, bool is_native, const char* present,
         const char* otherwise, const char* absent) {
  rows.push_back({feature, is_native ? by_backend : otherwise, is_native ? present : absent});
}

void add_streams(Rows& rows, const Backend& backend, const tbk_device_properties_t& properties) {
  const Tables& tables = backend.tables();
  add(rows, "streams", tables.has_stream, "", bridge, "every call is complete on return");
  bool ordered = properties.priority_least != properties.priority_greatest;
  rows.push_back({"stream priorities", tables.has_stream && ordered ? by_backend : none,
                  c10::str(properties.priority_greatest, " to ", properties.priority_least)});
  add(rows, "stream to native handle", tables.stream.stream_native_handle != nullptr, "", none, "");
  add(rows, "stream from native handle", tables.stream.stream_from_native != nullptr, "", none, "");
  // What the bridge never calls is not served by the backend, whatever that declares.
  add(rows, "host callbacks", false, "", none,
      tables.has_callback ? "the backend's own are not used" : "");
}

void add_events(Rows& rows, const Backend& backend, const tbk_device_properties_t& properties) {
  const Tables& tables = backend.tables();
  add(rows, "events", tables.has_event, "", bridge, "the host waits when one is recorded");
  add(rows, "event timing", tables.event.event_elapsed != nullptr, "", bridge,
      "the host waits when one is recorded, and takes its own clock");
  add(rows, "waits across devices", (properties.flags & TBK_DEVICE_CROSS_DEVICE_WAIT) != 0, "",
      bridge, "the host waits for the event");
}

std::string granularity_detail(uint64_t granularity) {
  if (granularity == 1) return "any byte";
  return c10::str("multiples of ", granularity,
                  " bytes; the odd ends are read, changed and written back");
}

void add_memory(Rows& rows, const Backend& backend, const DeviceState& device) {
  const Tables& tables = backend.tables();
  add(rows, "fill", tables.core.fill != nullptr, "", bridge, "by upload");
  uint64_t granularity = device.properties.copy_granularity;
  rows.push_back({"copies of any byte", granularity == 1 ? by_backend : bridge,
                  granularity_detail(granularity)});
  add(rows, "copies between devices", tables.has_peer, "", bridge, "through the host");
  add(rows, "pinned memory", tables.has_pinned, "", none, "");
  bool has_total = device.properties.memory_bytes != 0;
  add(rows, "memory info", tables.core.memory_info != nullptr, "", has_total ? bridge : none,
      has_total ? "the total, less what this process holds" : "");
  add(rows, "flat addresses", device.flat_address(), "blocks are split and joined", none,
      "a block serves one tensor at a time");
  add(rows, "host-visible memory", device.host_visible(), "fallbacks copy nothing", none,
      "fallbacks copy to the host and back");
  add(rows, "stream-ordered memory", false, "", bridge,
      tables.has_async_memory ? "the caching allocator; the backend's own is not used"
                              : "the caching allocator");
}

void add_random(Rows& rows, const Backend& backend) {
  add(rows, "random bits", false, "", bridge,
      backend.tables().has_random ? "drawn on the host; the backend's own are not used"
                                  : "drawn on the host");
}

void add_kernels(Rows& rows, Backend& backend, int device) {
  if (backend.tables().has_kernel) backend.ensure_open(device);
  for (const KernelName& kernel : kernel_names) {
    const tbk_kernel_t* found = backend.tables().has_kernel
                                    ? backend.tables().kernel.kernel_find(
                                          backend.instance(), device, kernel.name, kernel.version)
                                    : nullptr;
    std::string feature = std::string("kernel ") + kernel.name;
    const char* detail = TBK_HAS(found, tbk_kernel_t, prepare) ? "planned once a signature" : "";
    rows.push_back({feature, found != nullptr ? by_backend : bridge,
                    found != nullptr ? detail : "computed on the host"});
  }
}

}  // namespace

std::vector<Capability> capabilities(c10::DeviceIndex index) {
  Backend& backend = Backend::get();
  const DeviceState& device = backend.device(index);
  Rows rows;
  add_streams(rows, backend, device.properties);
  add_events(rows, backend, device.properties);
  add_memory(rows, backend, device);
  add_random(rows, backend);
  add_kernels(rows, backend, index);
  return rows;
}

}  // namespace tbk
