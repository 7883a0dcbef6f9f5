// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// tbk-bench-dispatch LIBRARY [--case TEXT] [--output FILE]
// What an operator costs on its way through PyTorch, the bridge and the C interface, as a ratio to
// PyTorch's own CPU: both in one process, in turn, in one thread, without gradients. Prints figures
// and judges nothing. With TEXT, only the cases that have it in their names.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <malloc.h>
#include <runtime/backend.h>
#include <runtime/device_allocator.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 101, kCalls = 1000;

struct Case {
  const char* name;
  double limit;  // 0 where none was set
  std::function<void()> device, host;
};

struct Figures {
  double device_ns, host_ns, ratio;
};

double nanoseconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; i++)
    call();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / kCalls;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The ratio is the median of the rounds' ratios: what disturbs a round disturbs both of its halves.
Figures measure(const Case& each) {
  std::vector<double> device, host, ratios;
  nanoseconds(each.device);
  nanoseconds(each.host);
  for (int round = 0; round < kRounds; round++) {
    host.push_back(nanoseconds(each.host));
    device.push_back(nanoseconds(each.device));
    ratios.push_back(device.back() / host.back());
  }
  return {median(device), median(host), median(ratios)};
}

void keep(const void* pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
}

void host_allocation() {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, 64, 4096) != 0) std::abort();
  keep(pointer);
  std::free(pointer);
}

void device_allocation() {
  const c10::DataPtr pointer = tbk::device_allocator().allocate_on(0, 4096);
  keep(pointer.get());
}

using Tensors = std::vector<at::Tensor>;

/// The same call on tensors of the device and on equal ones of the host.
template <class Call>
Case on_both(const char* name, double limit, const Tensors& host, Call call) {
  Tensors device;
  for (const at::Tensor& tensor : host)
    device.push_back(tensor.to(at::Device(at::kPrivateUse1, 0)));
  return {name, limit, [=] { call(device); }, [=] { call(host); }};
}

std::vector<Case> cases() {
  const at::Tensor one = at::ones({1}), number = at::ones({1}, at::kLong);
  const auto add = [](const Tensors& t) { keep(at::add(t[0], t[1]).unsafeGetTensorImpl()); };
  const auto add_number = [](const Tensors& t) { keep(at::add(t[0], 2.0).unsafeGetTensorImpl()); };
  const auto add_in_place = [](const Tensors& t) { t[0].add_(t[1]); };
  const auto empty = [](const Tensors& t) {
    keep(at::empty({1}, t[0].options()).unsafeGetTensorImpl());
  };
  const auto exp = [](const Tensors& t) { keep(at::exp(t[0]).unsafeGetTensorImpl()); };
  const auto sort = [](const Tensors& t) {
    keep(std::get<0>(at::sort(t[0])).unsafeGetTensorImpl());
  };
  return {
      on_both("add, equal shapes, 1 element", 0.50, {one, one}, add),
      on_both("add in place, equal shapes, 1 element", 0, {one, one}, add_in_place),
      on_both("add, broadcast, 1x1 and 1", 0.9, {at::ones({1, 1}), one}, add),
      on_both("add, broadcast, 2x1 and 1x2", 0.9, {at::ones({2, 1}), at::ones({1, 2})}, add),
      on_both("add, promoted, float32 and int64", 0.9, {one, number}, add),
      on_both("add, a Python number", 0.9, {one}, add_number),
      on_both("empty, 1 element", 0.9, {one}, empty),
      {"cached alloc and free, 4 KiB", 0.5, device_allocation, host_allocation},
      on_both("fallback: exp, 1 element", 2.5, {one}, exp),
      on_both("fallback: exp, 1024 elements", 2.5, {at::ones({1024})}, exp),
      on_both("fallback: sort, 1024 elements", 2.5, {at::ones({1024})}, sort),
  };
}

/// The processes that ran or waited to, on average over the last minute.
double load() {
  double average = 0;
  return getloadavg(&average, 1) == 1 ? average : -1;
}

struct Options {
  const char* library = nullptr;
  const char* only = "";
  const char* output = nullptr;
};

bool parse(int argc, char** argv, Options& options) {
  if (argc < 2 || argc % 2 != 0) return false;
  options.library = argv[1];
  for (int i = 2; i < argc; i += 2) {
    if (std::strcmp(argv[i], "--case") == 0)
      options.only = argv[i + 1];
    else if (std::strcmp(argv[i], "--output") == 0)
      options.output = argv[i + 1];
    else
      return false;
  }
  return true;
}

struct Result {
  Case of;
  Figures figures;
};

void print_head(const std::string& backend) {
  std::printf(
      "on %s: the template backend, with add.Tensor for float32 and copy_ in C beside it\n"
      "%d rounds of %d calls each, in turn, 1 thread; %u cores, load %.1f\n\n"
      "%-40s %9s %9s %7s %7s\n",
      backend.c_str(), kRounds, kCalls, std::thread::hardware_concurrency(), load(), "",
      "device ns", "CPU ns", "ratio", "limit");
}

void print_row(const Result& result) {
  const Figures& figures = result.figures;
  std::printf("%-40s %9.0f %9.0f %7.2f ", result.of.name, figures.device_ns, figures.host_ns,
              figures.ratio);
  result.of.limit > 0 ? std::printf("%7.2f\n", result.of.limit) : std::printf("%7s\n", "-");
}

bool write_json(const char* path, const std::string& backend, const std::vector<Result>& results) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file,
               "{\"backend\": \"%s\", \"rounds\": %d, \"calls\": %d, \"load\": %.2f, \"cases\": [",
               backend.c_str(), kRounds, kCalls, load());
  const char* separator = "\n";
  for (const auto& [of, figures] : results) {
    std::fprintf(file,
                 "%s  {\"name\": \"%s\", \"device_ns\": %.1f, \"host_ns\": %.1f, \"ratio\": %.4f, "
                 "\"limit\": %.2f}",
                 separator, of.name, figures.device_ns, figures.host_ns, figures.ratio, of.limit);
    separator = ",\n";
  }
  const bool is_written = std::fprintf(file, "\n]}\n") > 0;
  return std::fclose(file) == 0 && is_written;
}

int run(const Options& options) {
  const std::string& backend = tbk::Backend::load(options.library, "").name();
  // Else a free() at the end of the heap may give pages back, for the next malloc() to ask for.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  at::set_num_threads(1);     // the way of a call is timed, not how its work is divided
  std::thread([] {}).join();  // the allocator of the C library locks from now on, as it always does
  const c10::NoGradGuard no_grad;
  print_head(backend);
  std::vector<Result> results;
  for (const Case& each : cases()) {
    if (std::strstr(each.name, options.only) == nullptr) continue;
    results.push_back({each, measure(each)});
    print_row(results.back());
  }
  std::printf("\nload at the end %.1f\n", load());
  if (options.output == nullptr || write_json(options.output, backend, results)) return 0;
  std::perror(options.output);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s LIBRARY [--case TEXT] [--output FILE]\n", argv[0]);
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
