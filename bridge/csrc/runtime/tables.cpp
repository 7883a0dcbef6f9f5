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

#define ENTRY(table, type, function) Mandatory{offsetof(type, function), #function},

void copy_optional(Tables& to, const tbk_backend_t& from, const std::string& path) {
#define COPY(name, type, needs) \
  to.has_##name = copy_table(to.name, from.name, #name, path, {TBK_MANDATORY_##name(ENTRY)});
  TBK_TABLE_MAP(COPY)
#undef COPY
}

bool has_table(const Tables& tables, std::string_view wanted) {
#define HAS(name, type, needs) \
  if (wanted == #name) return tables.has_##name;
  TBK_TABLE_MAP(HAS)
#undef HAS
  return false;
}

void check_needs(const Tables& tables, const std::string& path) {
#define CHECK_NEEDS(name, type, needs)                                                 \
  if (tables.has_##name && *(needs) != '\0' && !has_table(tables, needs))              \
    refuse(path, "the backend has the table " #name ", which needs the table ", needs, \
           ", and that is not there");
  TBK_TABLE_MAP(CHECK_NEEDS)
#undef CHECK_NEEDS
}
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
  copy_table(tables.core, known.core, "core", path, {TBK_MANDATORY_core(ENTRY)});
  copy_optional(tables, known, path);
  check_needs(tables, path);
  return tables;
}
#undef ENTRY

}  // namespace tbk
