// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The seam: generic kernels of the backend that is loaded, each behind a function that may change what
// it is asked for. Kernels stand in static tables, which a second instance of the backend finds.
#include <dlfcn.h>
#include <patch.h>
#include <routes.h>

#include <array>
#include <atomic>
#include <string>

namespace tbk::routes {
namespace {

constexpr Faults (*tables[])() = {
    pointwise_operand_faults, reduce_operand_faults, state_faults,
    pointwise_faults,         more_pointwise_faults, reduce_faults,
    more_reduce_faults,       scan_faults,           random_faults,
    movement_faults,          product_faults,
};

struct Generic {
  const char* name;
  uint32_t version;
};
constexpr Generic generic_kernels[] = {
    {TBK_NAME_pointwise, TBK_VERSION_pointwise},
    {TBK_NAME_reduce, TBK_VERSION_reduce},
    {TBK_NAME_scan, TBK_VERSION_scan},
    {TBK_NAME_index, TBK_VERSION_index},
    {TBK_NAME_sort, TBK_VERSION_sort},
    {TBK_NAME_matmul, TBK_VERSION_matmul},
    {TBK_NAME_convolution, TBK_VERSION_convolution},
};

/// A kernel that is being watched, and what it was.
struct Watched {
  tbk_kernel_t* kernel = nullptr;
  tbk_kernel_t before{};
  const char* name = nullptr;
};
std::array<Watched, std::size(generic_kernels)> watched;

std::atomic<const Fault*> current{nullptr};
std::atomic<int> changed{0};
std::atomic<unsigned> called{0};  // kernels, as bits

const Watched& of(const tbk_kernel_t* kernel) {
  for (const Watched& one : watched)
    if (one.kernel == kernel) return one;
  throw std::logic_error("a kernel that is not watched");
}

tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                    const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const Watched& one = of(kernel);
  called |= 1U << (&one - watched.data());
  const Fault* fault = current.load();
  if (fault == nullptr || std::string(fault->kernel) != one.name)
    return one.before.launch(self, device, kernel, arguments, stream, error);
  Scratch scratch;
  size_t bytes;
  std::memcpy(&bytes, arguments, sizeof bytes);
  std::byte* own = scratch.copy(static_cast<const std::byte*>(arguments), bytes);
  if (!fault->change(own, scratch))
    return one.before.launch(self, device, kernel, arguments, stream, error);
  changed++;
  return one.before.launch(self, device, kernel, own, stream, error);
}

/// Without prepare: a plan of what is asked for is none of what it is changed to.
void watch(const tbk_kernel_t* found, const char* name, Watched& one) {
  auto* kernel = const_cast<tbk_kernel_t*>(found);
  one = {kernel, *kernel, name};
  tbk::mutants::make_writable(kernel);
  tbk::mutants::make_writable(reinterpret_cast<std::byte*>(kernel + 1) - 1);
  kernel->launch = launch;
  kernel->prepare = nullptr;
}

int watch_all(const tbk_backend_t& backend) {
  int32_t count = 0;
  if (backend.kernel == nullptr ||
      backend.core->device_count(backend.instance, &count, nullptr) != TBK_OK || count == 0 ||
      backend.core->device_open(backend.instance, 0, nullptr) != TBK_OK)
    return 0;
  int found = 0;
  for (size_t i = 0; i < watched.size(); i++) {
    const auto& [name, version] = generic_kernels[i];
    const auto* kernel = backend.kernel->kernel_find(backend.instance, 0, name, version);
    if (kernel == nullptr || watched[i].kernel != nullptr) continue;
    watch(kernel, name, watched[i]);
    found++;
  }
  return backend.core->device_close(backend.instance, 0, nullptr) == TBK_OK ? found : 0;
}

template <class Visit>
void for_each(Visit visit) {
  for (auto table : tables) {
    const Faults faults = table();
    for (size_t i = 0; i < faults.count; i++)
      visit(faults.first[i]);
  }
}

}  // namespace
}  // namespace tbk::routes

using namespace tbk::routes;

/// Puts itself before the generic kernels of the backend in `library`, which is loaded. Returns how many.
extern "C" [[gnu::visibility("default")]] int tbk_torch_routes_watch(const char* library,
                                                                     const char* options) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (opened == nullptr) return 0;
  auto* create = reinterpret_cast<tbk_backend_create_fn>(dlsym(opened, "tbk_backend_create"));
  const tbk_host_t host = {sizeof host, TBK_ABI_VERSION, nullptr, nullptr, options};
  const tbk_backend_t* backend = nullptr;
  if (create == nullptr || create(&host, &backend, nullptr) != TBK_OK) return 0;
  const int found = watch_all(*backend);
  backend->core->destroy(backend->instance);
  return found;
}

/// Leaves all as it was.
extern "C" [[gnu::visibility("default")]] void tbk_torch_routes_leave() {
  current = nullptr;
  for (Watched& one : watched) {
    if (one.kernel != nullptr) *one.kernel = one.before;
    one = {};
  }
}

/// Returns all faults, one on each line: "kernel: name".
extern "C" [[gnu::visibility("default")]] const char* tbk_torch_routes_faults() {
  static const std::string names = [] {
    std::string lines;
    for_each([&](const Fault& one) { lines += std::string(one.kernel) + ": " + one.name + "\n"; });
    return lines;
  }();
  return names.c_str();
}

/// Returns which kernels were called since it was asked last, one on each line.
extern "C" [[gnu::visibility("default")]] const char* tbk_torch_routes_called() {
  static std::string names;
  names.clear();
  const unsigned bits = called.exchange(0);
  for (size_t i = 0; i < watched.size(); i++)
    if ((bits >> i & 1) != 0) names += std::string(generic_kernels[i].name) + "\n";
  return names.c_str();
}

/// Breaks each call from now on in this way; none: no more. Returns how many calls the one before has changed;
/// -1 where there is no such fault.
extern "C" [[gnu::visibility("default")]] int tbk_torch_routes_break(const char* fault) {
  const Fault* found = nullptr;
  if (fault != nullptr)
    for_each([&](const Fault& one) {
      if (std::string(one.kernel) + ": " + one.name == fault) found = &one;
    });
  if (fault != nullptr && found == nullptr) return -1;
  current = found;
  return changed.exchange(0);
}
