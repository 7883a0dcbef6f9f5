// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <aten/kernels_plan.h>
#include <aten/kernels_room.h>
#include <runtime/backend.h>
#include <runtime/error.h>

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tbk {
namespace {

// Of one kernel on one device. One generic kernel serves every operator, and a model of some hundred
// layers has some hundred shapes forward and backward; a plan is small beside what it is made for.
constexpr size_t kPlansPerKernel = 1024;

struct Entry {
  PlanKey key;
  std::shared_ptr<const Plan> plan;
};

using KeyView = c10::ArrayRef<int64_t>;

struct KeyHash {
  size_t operator()(KeyView key) const {
    const auto* bytes = reinterpret_cast<const char*>(key.data());
    return std::hash<std::string_view>()({bytes, key.size() * sizeof(int64_t)});
  }
};

/// The plans of one kernel on one device. When there are too many, the one that was used longest ago
/// goes.
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(KeyView key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }

  /// Returns what had to go, which its caller drops without the lock; `plan` becomes what another
  /// thread has put there meanwhile, if any has.
  std::shared_ptr<const Plan> add(const PlanKey& key, std::shared_ptr<const Plan>& plan) {
    if (std::shared_ptr<const Plan> there = find(key)) {
      plan.swap(there);
      return there;
    }
    entries_.push_front(Entry{key, plan});
    by_key_.emplace(entries_.front().key, entries_.begin());
    if (entries_.size() <= kPlansPerKernel) return nullptr;
    std::shared_ptr<const Plan> oldest = std::move(entries_.back().plan);
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
    return oldest;
  }

  size_t size() const {
    return entries_.size();
  }

 private:
  std::list<Entry> entries_;  // the one used last in front
  // Borrows the keys of the entries, which do not move.
  std::unordered_map<KeyView, std::list<Entry>::iterator, KeyHash> by_key_;
};

struct Caches {
  std::mutex lock;
  std::map<std::pair<const tbk_kernel_t*, c10::DeviceIndex>, PlanCache> of;
  uint64_t made = 0;
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
  if (plan == nullptr) return nullptr;
  std::shared_ptr<const Plan> gone;  // outlives the guard: its plan goes back to the backend
  std::lock_guard<std::mutex> guard(all.lock);
  all.made++;
  gone = all.of[{kernel, device}].add(key, plan);
  return plan;
}

PlanCounts plan_counts() {
  Caches& all = caches();
  std::lock_guard<std::mutex> guard(all.lock);
  PlanCounts counts{all.made, 0};
  for (const auto& [of, cache] : all.of)
    counts.kept += cache.size();
  return counts;
}

}  // namespace tbk
