// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/error.h>
#include <runtime/tables.h>
#include <runtime/text.h>

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace tbk {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const std::string& path, const Parts&... parts) {
  TORCH_CHECK_VALUE(false, path, ": ", parts...);
}

void check_file(const std::string& path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse(path, "no such file");
  if (error) refuse(path, error.message());
  if (status.type() == std::filesystem::file_type::directory)
    refuse(path, "is a directory, not a library");
  if (status.type() != std::filesystem::file_type::regular) refuse(path, "is not a regular file");
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

/// [a-z][a-z_]{0,30}: torch.device() parses no digits in a name.
bool is_device_name(const char* name) {
  std::string_view text(name, strnlen(name, 32));
  return !text.empty() && text.size() <= 31 && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || c == '_'; });
}

void check_backend(const tbk_backend_t& backend, const std::string& path) {
  size_t size = backend.struct_size;
  size_t least = offsetof(tbk_backend_t, stream);
  if (size < offsetof(tbk_backend_t, name))
    refuse(path, "the backend's table is cut short: it says that it has ", size, " bytes, and ",
           least, " are needed");
  if (backend.abi_version != TBK_ABI_VERSION)
    refuse(path, "the backend has ABI version ", backend.abi_version, ", and this is version ",
           TBK_ABI_VERSION);
  if (size < least)
    refuse(path, "the backend's table is cut short: it says that it has ", size, " bytes, and ",
           least, " are needed");
  if (backend.name == nullptr) refuse(path, "the backend's name is NULL");
  if (!is_device_name(backend.name))
    refuse(path, "the backend's name is '", printable(backend.name, 64),
           "', which is not 1 to 31 small letters and '_'");
  if (backend.version == nullptr) refuse(path, "the backend's version is NULL");
  if (backend.core == nullptr) refuse(path, "the backend has no core functions");
}

/// The tables are a size and then pointers to functions, so that a table can be read as an array.
constexpr size_t entry_size = sizeof(void (*)());

/// The name of a function that is not there though its table is; NULL where all are.
struct Mandatory {
  size_t offset;
  const char* name;
};

bool has_entry(const void* table, size_t offset) {
  void* entry = nullptr;
  std::memcpy(&entry, static_cast<const char*>(table) + offset, entry_size);
  return entry != nullptr;
}

template <typename Table>
bool copy_table(Table& to, const Table* from, const char* name, const std::string& path,
                std::initializer_list<Mandatory> mandatory) {
  static_assert(sizeof(Table) % entry_size == 0);
  if (from == nullptr) return false;
  size_t size = from->struct_size;
  if (size < sizeof(size_t) + entry_size)
    refuse(path, "the ", name, " table is cut short: it says that it has ", size, " bytes");
  std::memcpy(&to, from, std::min(size - size % entry_size, sizeof(Table)));
  to.struct_size = sizeof(Table);
  for (const Mandatory& entry : mandatory) {
    if (!has_entry(&to, entry.offset))
      refuse(path, "the mandatory function ", entry.name, " of the ", name, " table is missing");
  }
  return true;
}

#define ENTRY(type, function)           \
  Mandatory {                           \
    offsetof(type, function), #function \
  }

void copy_core(Tables& to, const tbk_backend_t& from, const std::string& path) {
  copy_table(to.core, from.core, "core", path,
             {ENTRY(tbk_core_t, destroy), ENTRY(tbk_core_t, device_count),
              ENTRY(tbk_core_t, device_properties), ENTRY(tbk_core_t, device_open),
              ENTRY(tbk_core_t, device_close), ENTRY(tbk_core_t, memory_alloc),
              ENTRY(tbk_core_t, memory_free), ENTRY(tbk_core_t, upload),
              ENTRY(tbk_core_t, download), ENTRY(tbk_core_t, copy)});
}

void copy_streams(Tables& to, const tbk_backend_t& from, const std::string& path) {
  to.has_stream = copy_table(
      to.stream, from.stream, "stream", path,
      {ENTRY(tbk_stream_ops_t, stream_create), ENTRY(tbk_stream_ops_t, stream_destroy),
       ENTRY(tbk_stream_ops_t, stream_query), ENTRY(tbk_stream_ops_t, stream_synchronize),
       ENTRY(tbk_stream_ops_t, device_synchronize)});
  to.has_event =
      copy_table(to.event, from.event, "event", path,
                 {ENTRY(tbk_event_ops_t, event_create), ENTRY(tbk_event_ops_t, event_destroy),
                  ENTRY(tbk_event_ops_t, event_record), ENTRY(tbk_event_ops_t, event_wait),
                  ENTRY(tbk_event_ops_t, event_query), ENTRY(tbk_event_ops_t, event_synchronize)});
  to.has_callback = copy_table(to.callback, from.callback, "callback", path,
                               {ENTRY(tbk_callback_ops_t, callback_enqueue)});
}

void copy_rest(Tables& to, const tbk_backend_t& from, const std::string& path) {
  to.has_pinned =
      copy_table(to.pinned, from.pinned, "pinned", path,
                 {ENTRY(tbk_pinned_ops_t, pinned_alloc), ENTRY(tbk_pinned_ops_t, pinned_free)});
  to.has_peer =
      copy_table(to.peer, from.peer, "peer", path,
                 {ENTRY(tbk_peer_ops_t, peer_can_access), ENTRY(tbk_peer_ops_t, peer_copy)});
  to.has_async_memory = copy_table(
      to.async_memory, from.async_memory, "async_memory", path,
      {ENTRY(tbk_async_memory_ops_t, async_alloc), ENTRY(tbk_async_memory_ops_t, async_free)});
  to.has_kernel =
      copy_table(to.kernel, from.kernel, "kernel", path, {ENTRY(tbk_kernel_ops_t, kernel_find)});
  to.has_random =
      copy_table(to.random, from.random, "random", path, {ENTRY(tbk_random_ops_t, random_bits)});
}
#undef ENTRY

}  // namespace

tbk_backend_create_fn open_library(const std::string& path) {
  check_file(path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    refuse(path, "is not a library that can be loaded: ", why != nullptr ? why : "no reason given");
  }
  void* symbol = dlsym(library, TBK_ENTRY_SYMBOL);
  if (symbol == nullptr) refuse(path, "is no backend: it does not export " TBK_ENTRY_SYMBOL);
  return reinterpret_cast<tbk_backend_create_fn>(symbol);
}

const tbk_backend_t& create_instance(tbk_backend_create_fn create, const tbk_host_t& host,
                                     const std::string& path) {
  ErrorBuffer error;
  const tbk_backend_t* backend = nullptr;
  tbk_status_t status = create(&host, &backend, &error);
  if (status != TBK_OK) refuse(path, "the backend refuses: ", describe_status(status, error));
  if (backend == nullptr) refuse(path, TBK_ENTRY_SYMBOL " succeeds and gives no table");
  try {
    check_backend(*backend, path);
  } catch (...) {
    destroy_instance(*backend);
    throw;
  }
  return *backend;
}

void destroy_instance(const tbk_backend_t& backend) noexcept {
  bool readable = backend.struct_size >= offsetof(tbk_backend_t, stream) &&
                  backend.abi_version == TBK_ABI_VERSION;
  if (readable && TBK_HAS(backend.core, tbk_core_t, destroy))
    backend.core->destroy(backend.instance);
}

Tables copy_tables(const tbk_backend_t& backend, const std::string& path) {
  tbk_backend_t known{};  // what a shorter table has not got is NULL
  std::memcpy(&known, &backend, std::min(backend.struct_size, sizeof known));
  Tables tables;
  copy_core(tables, known, path);
  copy_streams(tables, known, path);
  copy_rest(tables, known, path);
  bool needs_stream = tables.has_event || tables.has_callback || tables.has_async_memory;
  if (needs_stream && !tables.has_stream)
    refuse(path, "the backend has a table that needs streams (event, callback or async_memory), ",
           "and no streams");
  return tables;
}

}  // namespace tbk
