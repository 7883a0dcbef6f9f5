// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/native_stream.h>
#include <runtime/stream.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tbk {
namespace {

constexpr size_t pool_size = 32;
constexpr size_t most_streams = 4096;  // of a device: pools of many priorities, and native queues

/// Streams of one priority, given out in turn.
struct StreamPool {
  std::vector<Stream*> streams;
  size_t next = 0;
  bool full = false;

  Stream& take() {
    return *streams[next++ % streams.size()];
  }
};

struct DeviceStreams {
  std::array<std::atomic<Stream*>, most_streams> by_id{};  // read without the lock
  std::atomic<size_t> count{0};
  std::mutex mutex;  // for what follows, and for adding
  std::deque<Stream> streams;
  std::map<int, StreamPool> pools;
  std::unordered_map<void*, Stream*> native;

  Stream* find(c10::StreamId id) const {
    if (id < 0 || static_cast<size_t>(id) >= most_streams) return nullptr;
    return by_id[static_cast<size_t>(id)].load(std::memory_order_acquire);
  }
  /// `id` is less than `count`.
  Stream& at(size_t id) const {
    return *by_id[id].load(std::memory_order_acquire);
  }
  /// The caller has the lock and has seen that there is room.
  Stream& add(c10::DeviceIndex device, int priority, tbk_stream_t* handle) {
    size_t id = count.load(std::memory_order_relaxed);
    Stream& stream = streams.emplace_back();
    stream.device = device;
    stream.id = static_cast<c10::StreamId>(id);
    stream.priority = priority;
    stream.handle = handle;
    by_id[id].store(&stream, std::memory_order_release);
    count.store(id + 1, std::memory_order_release);
    return stream;
  }
  bool has_room() const {
    return count.load(std::memory_order_relaxed) < most_streams;
  }
};

/// Set once, when the device is opened for the first time.
constinit std::array<std::atomic<DeviceStreams*>, max_devices> all_streams{};

/// NULL stands for the default stream.
constinit thread_local std::array<Stream*, max_devices> current{};

DeviceStreams* find_streams(c10::DeviceIndex device) {
  return device < 0 ? nullptr
                    : all_streams[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

DeviceStreams& opened_streams(c10::DeviceIndex device) {
  Backend::get().ensure_open(device);
  return *find_streams(device);
}

/// NULL where the backend has no streams. Errors: what stream_create answers.
tbk_status_t create_handle(c10::DeviceIndex device, int priority, tbk_stream_t** out_handle,
                           ErrorBuffer& error) {
  Backend& backend = Backend::get();
  *out_handle = nullptr;
  if (!backend.tables().has_stream) return TBK_OK;
  return backend.tables().stream.stream_create(backend.instance(), device, priority, out_handle,
                                               &error);
}

int clamp_priority(c10::DeviceIndex device, int priority) {
  const tbk_device_properties_t& properties = Backend::get().device(device).properties;
  return std::clamp<int>(priority, properties.priority_greatest, properties.priority_least);
}

/// A stream of any priority, where no more can be made and there is none of the one asked for.
Stream* take_any(DeviceStreams& streams) {
  for (auto& [priority, pool] : streams.pools) {
    if (!pool.streams.empty()) return &pool.take();
  }
  return nullptr;
}

}  // namespace

std::string OperationNotes::text() const {
  std::string text;
  size_t end = count_.load(std::memory_order_relaxed);
  for (size_t at = end - std::min(end, operations_.size()); at < end; at++) {
    const char* operation = operations_[at % operations_.size()].load(std::memory_order_relaxed);
    if (operation == nullptr) continue;
    if (!text.empty()) text += ", ";
    text += operation;
  }
  return text;
}

std::string noted_operations(c10::DeviceIndex device) {
  std::string text;
  const DeviceStreams* streams = find_streams(device);
  size_t count = streams != nullptr ? streams->count.load(std::memory_order_acquire) : 0;
  for (size_t id = 0; id < count; id++) {
    std::string noted = streams->at(id).noted();
    if (noted.empty()) continue;
    if (!text.empty()) text += "; ";
    text += c10::str("on stream ", id, ": ", noted);
  }
  return text;
}

void make_default_stream(c10::DeviceIndex device) {
  if (find_streams(device) != nullptr) return;
  auto streams = std::make_unique<DeviceStreams>();
  ErrorBuffer error;
  tbk_stream_t* handle = nullptr;
  check(create_handle(device, 0, &handle, error), error, "stream_create", device);
  streams->add(device, 0, handle);
  // Never destroyed: streams are used until the process has ended.
  all_streams[static_cast<size_t>(device)].store(streams.release(), std::memory_order_release);
}

Stream& default_stream(c10::DeviceIndex device) {
  return opened_streams(device).at(0);
}

Stream& current_stream(c10::DeviceIndex device) {
  DeviceStreams& streams = opened_streams(device);
  Stream* stream = current[static_cast<size_t>(device)];
  return stream != nullptr ? *stream : streams.at(0);
}

c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept {
  if (device < 0) return 0;
  const Stream* stream = current[static_cast<size_t>(device)];
  return stream != nullptr ? stream->id : 0;
}

Stream& exchange_stream(Stream& stream) {
  Stream& previous = current_stream(stream.device);
  current[static_cast<size_t>(stream.device)] = &stream;
  return previous;
}

Stream& find_stream(c10::Stream stream) {
  TORCH_CHECK(stream.device_type() == c10::kPrivateUse1, "expected a stream of ",
              Backend::get().name(), ", not of ", stream.device());
  Stream* found = opened_streams(stream.device_index()).find(stream.id());
  TORCH_CHECK(found != nullptr, stream.device(), " has no stream with the id ", stream.id());
  return *found;
}

Stream& new_stream(c10::DeviceIndex device, int priority) {
  DeviceStreams& streams = opened_streams(device);
  int clamped = clamp_priority(device, priority);
  std::lock_guard lock(streams.mutex);
  StreamPool& pool = streams.pools[clamped];
  pool.full = pool.full || pool.streams.size() == pool_size || !streams.has_room();
  if (!pool.full) {
    ErrorBuffer error;
    tbk_stream_t* handle = nullptr;
    tbk_status_t status = create_handle(device, clamped, &handle, error);
    if (status == TBK_OK) {
      Stream& made = streams.add(device, clamped, handle);
      pool.streams.push_back(&made);
      return made;
    }
    Stream* shared = status == TBK_OUT_OF_MEMORY ? take_any(streams) : nullptr;
    if (shared == nullptr) raise_status(status, error, "stream_create", device);
    pool.full = !pool.streams.empty();
    if (!pool.full) return *shared;
  }
  return pool.take();
}

Stream& stream_from_native(c10::DeviceIndex device, void* native) {
  DeviceStreams& streams = opened_streams(device);
  Backend& backend = Backend::get();
  TORCH_CHECK_NOT_IMPLEMENTED(backend.tables().stream.stream_from_native != nullptr, backend.name(),
                              " offers no streams made of native handles");
  std::lock_guard lock(streams.mutex);
  auto known = streams.native.find(native);
  if (known != streams.native.end()) return *known->second;
  TORCH_CHECK(streams.has_room(), backend.name(), ":", device, " has ", most_streams,
              " streams, and can't have more");
  ErrorBuffer error;
  tbk_stream_t* handle = nullptr;
  check(backend.tables().stream.stream_from_native(backend.instance(), device, native, &handle,
                                                   &error),
        error, "stream_from_native", device);
  Stream& made = streams.add(device, 0, handle);
  streams.native.emplace(native, &made);
  return made;
}

void* native_handle(const Stream& stream) {
  Backend& backend = Backend::get();
  TORCH_CHECK_NOT_IMPLEMENTED(
      backend.tables().stream.stream_native_handle != nullptr && stream.handle != nullptr,
      backend.name(), " offers no native handles of streams");
  ErrorBuffer error;
  void* native = nullptr;
  check(backend.tables().stream.stream_native_handle(backend.instance(), stream.handle, &native,
                                                     &error),
        error, "stream_native_handle", stream.device);
  return native;
}

Stream* find_native(c10::DeviceIndex device, const void* native) {
  const DeviceStreams& streams = opened_streams(device);
  const size_t count = streams.count.load(std::memory_order_acquire);
  for (size_t id = 0; id < count; id++) {
    Stream& stream = streams.at(id);
    if (native_handle(stream) == native) return &stream;
  }
  return nullptr;
}

bool query(Stream& stream) {
  Backend& backend = Backend::get();
  backend.ensure_open(stream.device);
  if (stream.handle == nullptr) return true;
  ErrorBuffer error;
  tbk_status_t status =
      backend.tables().stream.stream_query(backend.instance(), stream.handle, &error);
  if (status == TBK_NOT_READY) return false;
  check(status, error, "stream_query", stream.device);
  return true;
}

void synchronize(Stream& stream) {
  Backend& backend = Backend::get();
  backend.ensure_open(stream.device);
  if (stream.handle != nullptr) {
    ErrorBuffer error;
    check(backend.tables().stream.stream_synchronize(backend.instance(), stream.handle, &error),
          error, "stream_synchronize", stream.device);
  }
  stream.forget();
  stream.bad_index.raise_if_any(stream);
}

void synchronize_device(c10::DeviceIndex device) {
  Backend& backend = Backend::get();
  if (!backend.device(device).is_open.load(std::memory_order_acquire)) return;
  DeviceStreams& streams = opened_streams(device);
  if (backend.tables().has_stream) {
    ErrorBuffer error;
    check(backend.tables().stream.device_synchronize(backend.instance(), device, &error), error,
          "device_synchronize", device);
  }
  size_t count = streams.count.load(std::memory_order_acquire);
  for (size_t id = 0; id < count; id++)
    streams.at(id).forget();
  for (size_t id = 0; id < count; id++)
    streams.at(id).bad_index.raise_if_any(streams.at(id));
}

}  // namespace tbk
