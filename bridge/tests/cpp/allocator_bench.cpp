// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Cached allocation and free against posix_memalign and free, in turn, in one process. JSON to stdout.
#include "check.h"

#include <runtime/device_allocator.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace tbk::test {
namespace {

constexpr size_t sizes[] = {64, 4 << 10, 64 << 10, 1 << 20};
constexpr int rounds = 41, pairs = 20000;

/// The compiler must take `pointer` for read.
void keep(void* pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
}

template <typename Pair>
double nanoseconds(Pair pair) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < pairs; i++)
    pair();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / pairs;
}

void host_pair(size_t bytes) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, 64, bytes) != 0) std::abort();
  keep(pointer);
  std::free(pointer);
}

void device_pair(size_t bytes) {
  const c10::DataPtr pointer = device_allocator().allocate_on(0, bytes);
  keep(pointer.get());
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::pair<double, double> measure(size_t bytes) {
  std::vector<double> host, device;
  device_pair(bytes);  // from now on it is in the cache
  for (int round = 0; round < rounds; round++) {
    host.push_back(nanoseconds([=] { host_pair(bytes); }));
    device.push_back(nanoseconds([=] { device_pair(bytes); }));
  }
  return {median(host), median(device)};
}

void bench_allocator() {
  // Every program that uses PyTorch has more than one thread; glibc's malloc locks from then on.
  std::thread([] {}).join();
  std::printf(
      "{\"what\": \"cached alloc+free / posix_memalign(64)+free\", \"rounds\": %d, "
      "\"pairs\": %d, \"sizes\": [",
      rounds, pairs);
  const char* separator = "";
  for (const size_t bytes : sizes) {
    const auto [host, device] = measure(bytes);
    TBK_CHECK(host > 0 && device > 0);
    std::printf("%s{\"bytes\": %zu, \"device_ns\": %.1f, \"host_ns\": %.1f, \"ratio\": %.3f}",
                separator, bytes, device, host, device / host);
    separator = ", ";
  }
  std::printf("]}\n");
}

const Registration registration({{"bench_allocator", "template", "", bench_allocator}});

}  // namespace
}  // namespace tbk::test
