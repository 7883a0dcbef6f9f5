// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/Exception.h>
#include <runtime/autograd.h>
#include <runtime/backend.h>
#include <torch/csrc/autograd/engine.h>

#include <atomic>
#include <mutex>

namespace tbk {
namespace {

/// What PyTorch's engine keeps for those derived from it.
struct Engine : torch::autograd::Engine {
  using Base = torch::autograd::Engine;

  /// The first pass of the process makes it.
  static bool has_run(Base& engine) {
    return engine.*&Engine::thread_pool_shared_ != nullptr;
  }
  static size_t threads(Base& engine) {
    return (engine.*&Engine::device_ready_queues_).size();
  }
  static void start(Base& engine) {
    (engine.*&Engine::start_device_threads)();
  }
};

std::atomic<bool> had_run{false};  // before the backend was loaded

}  // namespace

void note_earlier_backward() {
  if (Engine::has_run(Engine::Base::get_default_engine())) had_run = true;
}

void ensure_autograd_threads(int devices) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  torch::autograd::Engine& engine = Engine::Base::get_default_engine();
  // The first pass will see the devices.
  if (!Engine::has_run(engine) && !had_run) return;
  // Nothing of a device has run, and passes on the CPU do not look at the queues of devices.
  if (Engine::threads(engine) == 0) return Engine::start(engine);
  if (Engine::threads(engine) >= static_cast<size_t>(devices)) return;
  TORCH_WARN("a backward pass was run before the backend '", Backend::get().name(),
             "' was loaded, when PyTorch had ", Engine::threads(engine),
             " devices: in this process none can run on the others. Load the backend first.");
}

}  // namespace tbk
