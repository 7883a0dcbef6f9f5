// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <runtime/backend.h>
#include <runtime/current.h>
#include <runtime/error.h>
#include <runtime/host_allocator.h>
#include <runtime/stream_point.h>

#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace tbk {
namespace {

using PinnedBlock = at::HostBlock<c10::Stream>;

/// The pinned memory in use, by its first byte.
class PinnedRanges {
 public:
  struct Range {
    PinnedBlock* block;
    size_t bytes;  // as asked for
  };

  void add(PinnedBlock* block, size_t bytes) {
    std::unique_lock lock(mutex_);
    ranges_[block->ptr_] = {block, bytes};
  }
  void remove(PinnedBlock* block) {
    std::unique_lock lock(mutex_);
    ranges_.erase(block->ptr_);
  }
  /// The block that `pointer` lies in; NULL if there is none.
  PinnedBlock* find(const void* pointer) const {
    std::shared_lock lock(mutex_);
    const auto behind = ranges_.upper_bound(pointer);
    if (behind == ranges_.begin()) return nullptr;
    const auto& [begin, range] = *std::prev(behind);
    const auto offset =
        static_cast<size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(begin));
    return offset < range.bytes ? range.block : nullptr;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<const void*, Range, std::less<>> ranges_;
};

PinnedRanges& ranges() {
  // Never destroyed: tensors may outlive every static object.
  static auto& all = *new PinnedRanges();
  return all;
}

/// Says whether this thread waits for what still uses freed blocks, or only asks.
thread_local bool waits_for_uses = false;

/// What PyTorch's engine asks of a device.
class PinnedEngine final
    : public at::CachingHostAllocatorImpl<c10::Stream, StreamPoint, PinnedBlock> {
 public:
  std::pair<void*, void*> allocate(size_t bytes) override {
    const auto pair = CachingHostAllocatorImpl::allocate(bytes);
    if (pair.second == nullptr) return pair;
    try {
      raise_deferred();
      ranges().add(static_cast<PinnedBlock*>(pair.second), bytes);
    } catch (...) {
      CachingHostAllocatorImpl::free(pair.second);
      throw;
    }
    return pair;
  }

  void free(void* context) override {
    if (context == nullptr) return;
    ranges().remove(static_cast<PinnedBlock*>(context));
    CachingHostAllocatorImpl::free(context);
  }

  bool record_event(void* pointer, void* context, c10::Stream stream) override {
    find_stream(stream);  // raises here, not in the deleter
    return CachingHostAllocatorImpl::record_event(pointer, context, stream);
  }

  void empty_cache() override {
    CachingHostAllocatorImpl::empty_cache();
    raise_deferred();
  }

  void copy_data(void* destination, const void* source, size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }

 private:
  void allocate_host_memory(size_t bytes, void** pointer) override {
    Backend& backend = Backend::get();
    TORCH_CHECK_NOT_IMPLEMENTED(backend.tables().pinned.pinned_alloc != nullptr, backend.name(),
                                " offers no pinned memory");
    // Copies of every device may use it; one has to be open.
    const c10::DeviceIndex device = current_device();
    backend.ensure_open(device);
    ErrorBuffer error;
    const auto pin = [&] {
      return backend.tables().pinned.pinned_alloc(backend.instance(), device, bytes, pointer,
                                                  &error);
    };
    tbk_status_t status = pin();
    if (status == TBK_OUT_OF_MEMORY) {
      give_cached_back();
      error.message[0] = '\0';
      status = pin();
    }
    check(status, error, "pinned_alloc", device);
  }

  /// Waits for copies that use freed blocks, as the cache of device memory does before it runs out.
  void give_cached_back() {
    waits_for_uses = true;
    const auto restore = c10::make_scope_exit([] { waits_for_uses = false; });
    CachingHostAllocatorImpl::empty_cache();
  }

  /// Runs under locks of the engine.
  void free_block(PinnedBlock* block) override {
    const Backend& backend = Backend::get();
    backend.tables().pinned.pinned_free(backend.instance(), block->ptr_);
  }

  void record_stream(std::optional<std::vector<StreamPoint>>& points, c10::Stream stream) override {
    StreamPoint point(find_stream(stream));
    point.record();
    points->push_back(std::move(point));
  }

  bool query_event(StreamPoint& point) override {
    // Thrown from here, an error of the work would make the engine lose the block.
    std::exception_ptr error;
    const bool passed = point.passed(waits_for_uses, error);
    if (error) defer(std::move(error));
    return passed;
  }

  c10::Stream get_current_stream() const override {
    return current_stream(current_device()).wrap();
  }
  bool stream_is_capturing(c10::Stream) const override {
    return false;
  }

  void defer(std::exception_ptr error) {
    std::lock_guard lock(deferred_mutex_);
    if (!deferred_) deferred_ = std::move(error);
  }
  void raise_deferred() {
    std::exception_ptr error;
    {
      std::lock_guard lock(deferred_mutex_);
      error = std::exchange(deferred_, nullptr);
    }
    if (error) std::rethrow_exception(error);
  }

  std::mutex deferred_mutex_;
  std::exception_ptr deferred_;  // of work that used freed blocks
};

void free_pinned(void* context);

using PinnedAllocator = at::CachingHostAllocatorInterface<PinnedEngine, free_pinned>;

PinnedAllocator& pinned_allocator() {
  // Never destroyed, as its tensors may be freed later, and its destructor waits for a thread.
  static auto& allocator = *new PinnedAllocator();
  return allocator;
}

void free_pinned(void* context) {
  // The parent's memory and locks are none of a forked child's business.
  if (Backend::in_bad_fork()) return;
  try {
    pinned_allocator().free(context);
  } catch (...) {
    // A deleter can't tell. The block is lost, which is safe.
  }
}

}  // namespace

at::HostAllocator& host_allocator() {
  return pinned_allocator();
}

bool is_pinned(const void* pointer) noexcept {
  if (pointer == nullptr || Backend::in_bad_fork()) return false;
  try {
    return ranges().find(pointer) != nullptr;
  } catch (...) {
    return false;
  }
}

void record_pinned(const void* pointer, c10::Stream stream) {
  if (pointer == nullptr || Backend::in_bad_fork()) return;
  if (PinnedBlock* block = ranges().find(pointer))
    pinned_allocator().record_event(block->ptr_, block, stream);
}

REGISTER_HOST_ALLOCATOR(c10::kPrivateUse1, &host_allocator())

}  // namespace tbk
