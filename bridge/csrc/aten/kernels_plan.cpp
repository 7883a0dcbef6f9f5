// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/kernels_plan.h>
#include <aten/kernels_room.h>
#include <runtime/backend.h>
#include <runtime/error.h>

#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace tbk {
namespace {

constexpr size_t kPlansPerKernel = 64;

struct Entry {
  PlanKey key;
  std::shared_ptr<const Plan> plan;
};

/// The plans of one kernel on one device, the one used last in front.
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const PlanKey& key) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->key != key) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->plan;
    }
    return nullptr;
  }
  void add(const PlanKey& key, std::shared_ptr<const Plan> plan) {
    entries_.push_front(Entry{key, std::move(plan)});
    if (entries_.size() > kPlansPerKernel) entries_.pop_back();
  }

 private:
  std::list<Entry> entries_;
};

struct Caches {
  std::mutex lock;
  std::map<std::pair<const tbk_kernel_t*, c10::DeviceIndex>, PlanCache> of;
};

Caches& caches() {
  // Never destroyed: the plans are the backend's, which outlives every static object too.
  static Caches* instance = new Caches;
  return *instance;
}

std::shared_ptr<const Plan> prepare(const tbk_kernel_t* kernel, c10::DeviceIndex device,
                                    const void* arguments) {
  tbk_plan_t* handle = nullptr;
  uint64_t workspace_bytes = 0;
  ErrorBuffer error;
  tbk_instance_t* instance = Backend::get().instance();
  tbk_status_t status = with_room(device, error, [&] {
    return kernel->prepare(instance, device, kernel, arguments, &handle, &workspace_bytes, &error);
  });
  if (status == TBK_UNSUPPORTED) return nullptr;
  check(status, error, "prepare", device);
  return std::make_shared<const Plan>(kernel, handle, workspace_bytes);
}

}  // namespace

Plan::~Plan() {
  kernel->plan_destroy(Backend::get().instance(), handle);
}

PlanKey make_plan_key(c10::ArrayRef<const tbk_tensor_t*> tensors, c10::ArrayRef<int64_t> others) {
  PlanKey key;
  for (const tbk_tensor_t* tensor : tensors) {
    key.push_back(tensor->dtype);
    key.push_back(tensor->rank);
    key.push_back(static_cast<int64_t>(tensor->storage_bytes));
    key.append(tensor->sizes, tensor->sizes + tensor->rank);
    key.append(tensor->strides, tensor->strides + tensor->rank);
  }
  key.append(others.begin(), others.end());
  return key;
}

std::shared_ptr<const Plan> find_plan(const tbk_kernel_t* kernel, c10::DeviceIndex device,
                                      const void* arguments, const PlanKey& key) {
  Caches& all = caches();
  {
    std::lock_guard<std::mutex> guard(all.lock);
    if (auto plan = all.of[{kernel, device}].find(key)) return plan;
  }
  // Without the lock: a first plan may take the backend as long as it takes to compile.
  std::shared_ptr<const Plan> plan = prepare(kernel, device, arguments);
  if (plan != nullptr) {
    std::lock_guard<std::mutex> guard(all.lock);
    all.of[{kernel, device}].add(key, plan);
  }
  return plan;
}

}  // namespace tbk
