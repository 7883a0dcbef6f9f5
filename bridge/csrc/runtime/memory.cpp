// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/backend.h>
#include <runtime/error.h>
#include <runtime/memory.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tbk {
namespace {

/// Host memory for what goes through the host, and for fills by upload.
constexpr uint64_t staging_bytes = 1 << 20;

uint64_t granularity_of(c10::DeviceIndex device) {
  return Backend::get().device(device).properties.copy_granularity;
}

bool is_multiple(uint64_t value, uint64_t granularity) {
  return (value & (granularity - 1)) == 0;
}

Location operator+(Location location, uint64_t bytes) {
  location.offset += bytes;
  return location;
}

// What the backend has, and no more: offsets and sizes are multiples of the granularity.

void upload_whole(Location to, const void* from, uint64_t bytes, Stream& stream) {
  Backend& backend = Backend::get();
  stream.note("upload");
  ErrorBuffer error;
  check(backend.core().upload(backend.instance(), to.device, to.memory, to.offset, from, bytes,
                              stream.handle, &error),
        error, "upload", to.device);
}

void download_whole(void* to, Location from, uint64_t bytes, Stream& stream) {
  Backend& backend = Backend::get();
  stream.note("download");
  ErrorBuffer error;
  check(backend.core().download(backend.instance(), from.device, to, from.memory, from.offset,
                                bytes, stream.handle, &error),
        error, "download", from.device);
}

void copy_whole(Location to, Location from, uint64_t bytes, Stream& stream) {
  Backend& backend = Backend::get();
  stream.note("copy");
  ErrorBuffer error;
  check(backend.core().copy(backend.instance(), to.device, to.memory, to.offset, from.memory,
                            from.offset, bytes, stream.handle, &error),
        error, "copy", to.device);
}

/// False where the backend turns out not to offer it: then nothing has happened.
bool peer_copy_whole(Location to, Location from, uint64_t bytes, Stream& stream) {
  Backend& backend = Backend::get();
  if (!backend.tables().has_peer) return false;
  stream.note("peer_copy");
  ErrorBuffer error;
  tbk_status_t status = backend.tables().peer.peer_copy(backend.instance(), to.device, to.memory,
                                                        to.offset, from.device, from.memory,
                                                        from.offset, bytes, stream.handle, &error);
  if (status == TBK_UNSUPPORTED) return false;
  check(status, error, "peer_copy", from.device);
  return true;
}

/// For what goes through host memory of the bridge's own: `stream` has been waited for, then each call
/// is complete on return, so that no failure leaves work behind that uses memory given back.
struct AtOnceAfter : AtOnce {
  AtOnceAfter(c10::DeviceIndex index, Stream& stream) : AtOnce(index) {
    synchronize(stream);
  }
};

/// Zeros are uploaded from memory that stays, so that nobody has to wait for them.
void fill_by_upload(Location to, uint8_t value, uint64_t bytes, Stream& stream) {
  static const std::vector<uint8_t>& zeros = *new std::vector<uint8_t>(staging_bytes);
  if (value == 0) {
    for (uint64_t done = 0; done < bytes; done += staging_bytes)
      upload_whole(to + done, zeros.data(), std::min(bytes - done, staging_bytes), stream);
    return;
  }
  std::vector<uint8_t> values(std::min(bytes, staging_bytes), value);
  AtOnceAfter at_once(to.device, stream);
  for (uint64_t done = 0; done < bytes; done += staging_bytes)
    upload_whole(to + done, values.data(), std::min(bytes - done, staging_bytes), at_once);
}

void fill_whole(Location to, uint8_t value, uint64_t bytes, Stream& stream) {
  Backend& backend = Backend::get();
  if (backend.core().fill == nullptr) return fill_by_upload(to, value, bytes, stream);
  stream.note("fill");
  ErrorBuffer error;
  tbk_status_t status = backend.core().fill(backend.instance(), to.device, to.memory, to.offset,
                                            value, bytes, stream.handle, &error);
  if (status == TBK_UNSUPPORTED) return fill_by_upload(to, value, bytes, stream);
  check(status, error, "fill", to.device);
}

/// A range cut at the multiples of a granularity: [0, head), [head, body) and [body, bytes) of it. The
/// body is whole; what is before and behind lies in one granule each, the same one where the body is
/// empty.
struct Parts {
  uint64_t head;
  uint64_t body;
};

Parts cut(uint64_t offset, uint64_t bytes, uint64_t granularity) {
  uint64_t first = (offset + granularity - 1) & ~(granularity - 1);
  uint64_t last = (offset + bytes) & ~(granularity - 1);
  if (first >= last) return {bytes, bytes};
  return {first - offset, last - offset};
}

/// Read the granules that [location, bytes) touches, let `change` at the bytes that are asked for, and
/// write them back unless `change` only reads.
template <typename Change>
void with_granules(Location location, uint64_t bytes, Stream& stream, bool write, Change change) {
  if (bytes == 0) return;
  uint64_t granularity = granularity_of(location.device);
  uint64_t lead = location.offset & (granularity - 1);
  uint64_t whole = (lead + bytes + granularity - 1) & ~(granularity - 1);
  std::vector<uint8_t> granules(whole);
  location.offset -= lead;
  AtOnceAfter at_once(location.device, stream);
  download_whole(granules.data(), location, whole, at_once);
  change(granules.data() + lead);
  if (write) upload_whole(location, granules.data(), whole, at_once);
}

void upload_odd(Location to, const uint8_t* from, uint64_t bytes, Stream& stream) {
  with_granules(to, bytes, stream, true,
                [&](uint8_t* granules) { std::memcpy(granules, from, bytes); });
}

void download_odd(uint8_t* to, Location from, uint64_t bytes, Stream& stream) {
  with_granules(from, bytes, stream, false,
                [&](const uint8_t* granules) { std::memcpy(to, granules, bytes); });
}

void fill_odd(Location to, uint8_t value, uint64_t bytes, Stream& stream) {
  with_granules(to, bytes, stream, true,
                [&](uint8_t* granules) { std::memset(granules, value, bytes); });
}

/// Complete on return. `to` may be on another device than `stream`: the caller has ordered `stream`
/// after what was written there before.
void copy_by_host(Location to, Location from, uint64_t bytes, Stream& stream) {
  if (bytes == 0) return;
  std::vector<uint8_t> staging(std::min(bytes, staging_bytes));
  AtOnceAfter reading(from.device, stream);
  AtOnceAfter writing(to.device, reading);
  for (uint64_t done = 0; done < bytes; done += staging_bytes) {
    uint64_t part = std::min(bytes - done, staging_bytes);
    download(staging.data(), from + done, part, reading);
    upload(to + done, staging.data(), part, writing);
  }
}

void copy_within(Location to, Location from, uint64_t bytes, Stream& stream) {
  uint64_t granularity = granularity_of(to.device);
  if (!is_multiple(to.offset - from.offset, granularity))
    return copy_by_host(to, from, bytes, stream);
  Parts parts = cut(to.offset, bytes, granularity);
  copy_by_host(to, from, parts.head, stream);
  copy_by_host(to + parts.body, from + parts.body, bytes - parts.body, stream);
  if (parts.head < parts.body)
    copy_whole(to + parts.head, from + parts.head, parts.body - parts.head, stream);
}

void copy_across(Location to, Location from, uint64_t bytes, Stream& stream) {
  uint64_t granularity = std::max(granularity_of(to.device), granularity_of(from.device));
  bool whole = is_multiple(to.offset | from.offset | bytes, granularity);
  if (whole && peer_copy_whole(to, from, bytes, stream)) return;
  copy_by_host(to, from, bytes, stream);
}

void check_stream(c10::DeviceIndex device, const Stream& stream) {
  TORCH_INTERNAL_ASSERT(device == stream.device, "a stream of device ", int(stream.device),
                        " for memory of device ", int(device));
}

}  // namespace

// The odd ends come first: where one fails, nothing is left that uses the caller's memory.

void upload(Location to, const void* from, uint64_t bytes, Stream& stream) {
  check_stream(to.device, stream);
  if (bytes == 0) return;
  const auto* source = static_cast<const uint8_t*>(from);
  Parts parts = cut(to.offset, bytes, granularity_of(to.device));
  upload_odd(to, source, parts.head, stream);
  upload_odd(to + parts.body, source + parts.body, bytes - parts.body, stream);
  if (parts.head < parts.body)
    upload_whole(to + parts.head, source + parts.head, parts.body - parts.head, stream);
}

void download(void* to, Location from, uint64_t bytes, Stream& stream) {
  check_stream(from.device, stream);
  if (bytes == 0) return;
  auto* destination = static_cast<uint8_t*>(to);
  Parts parts = cut(from.offset, bytes, granularity_of(from.device));
  download_odd(destination, from, parts.head, stream);
  download_odd(destination + parts.body, from + parts.body, bytes - parts.body, stream);
  if (parts.head < parts.body)
    download_whole(destination + parts.head, from + parts.head, parts.body - parts.head, stream);
}

void copy(Location to, Location from, uint64_t bytes, Stream& stream) {
  check_stream(from.device, stream);
  if (bytes == 0) return;
  if (to.device == from.device) return copy_within(to, from, bytes, stream);
  copy_across(to, from, bytes, stream);
}

void fill(Location to, uint8_t value, uint64_t bytes, Stream& stream) {
  check_stream(to.device, stream);
  if (bytes == 0) return;
  Parts parts = cut(to.offset, bytes, granularity_of(to.device));
  fill_odd(to, value, parts.head, stream);
  fill_odd(to + parts.body, value, bytes - parts.body, stream);
  if (parts.head < parts.body) fill_whole(to + parts.head, value, parts.body - parts.head, stream);
}

}  // namespace tbk
