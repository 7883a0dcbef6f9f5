// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Everything that a library can do wrong before it is a backend: one clear ValueError each.
#include "check.h"

#include <runtime/backend.h>

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

namespace tbk::test {
namespace {

/// The tables of a backend that is right in every respect, whose functions are never called but for
/// the first: they are counted.
int destroyed = 0;

void destroy(tbk_instance_t* /*self*/) {
  destroyed++;
}

template <typename Table>
Table whole_table() {
  Table table{};
  table.struct_size = sizeof table;
  void (*function)() = [] {};
  for (size_t at = sizeof(size_t); at < sizeof table; at += sizeof function)
    std::memcpy(reinterpret_cast<char*>(&table) + at, &function, sizeof function);
  return table;
}

struct Whole {
  tbk_core_t core = whole_table<tbk_core_t>();
  tbk_stream_ops_t stream = whole_table<tbk_stream_ops_t>();
  tbk_event_ops_t event = whole_table<tbk_event_ops_t>();
  tbk_backend_t backend{};

  Whole() {
    core.destroy = destroy;
    backend.struct_size = sizeof backend;
    backend.abi_version = TBK_ABI_VERSION;
    backend.name = "whole";
    backend.version = "1";
    backend.core = &core;
    backend.stream = &stream;
    backend.event = &event;
  }
};

void check_refused(const std::function<void()>& load, const char* reason) {
  try {
    load();
    TBK_CHECK_SEEN(false, std::string("it was accepted, though: ") + reason);
  } catch (const c10::ValueError& error) {
    std::string text = error.what_without_backtrace();
    TBK_CHECK_SEEN(text.find(reason) != std::string::npos, text + " instead of " + reason);
    TBK_CHECK_SEEN(text.find('\n') == std::string::npos, text);
  }
}

void check_refused(const std::function<void(Whole&)>& spoil, const char* reason) {
  Whole whole;
  spoil(whole);
  check_refused([&] { copy_tables(whole.backend, "whole.so"); }, reason);
}

void cut_tables_are_refused() {
  Whole whole;
  Tables tables = copy_tables(whole.backend, "whole.so");
  TBK_CHECK(tables.has_stream && tables.has_event && !tables.has_peer);
  check_refused([](Whole& w) { w.core.struct_size = sizeof(size_t); }, "core table is cut short");
  check_refused([](Whole& w) { w.core.struct_size = offsetof(tbk_core_t, copy); },
                "mandatory function copy of the core table");
  check_refused([](Whole& w) { w.core.upload = nullptr; }, "mandatory function upload of the core");
  check_refused([](Whole& w) { w.stream.stream_query = nullptr; }, "stream_query of the stream");
  check_refused([](Whole& w) { w.event.struct_size = offsetof(tbk_event_ops_t, event_query); },
                "event_query of the event");
  check_refused([](Whole& w) { w.backend.stream = nullptr; },
                "the table event, which needs the table stream");
}

void short_tables_lack_what_they_are_short_of() {
  Whole whole;
  whole.core.struct_size = offsetof(tbk_core_t, memory_info) + 3;  // a part of a pointer is none
  whole.event.event_elapsed = nullptr;
  Tables tables = copy_tables(whole.backend, "whole.so");
  TBK_CHECK(tables.core.fill != nullptr && tables.core.memory_info == nullptr);
  TBK_CHECK(tables.has_event && tables.event.event_elapsed == nullptr);
  whole.backend.struct_size = offsetof(tbk_backend_t, event);
  tables = copy_tables(whole.backend, "whole.so");
  TBK_CHECK(tables.has_stream && !tables.has_event);
}

Whole* created = nullptr;

tbk_status_t create(const tbk_host_t* /*host*/, const tbk_backend_t** out, tbk_error_t* /*error*/) {
  *out = created != nullptr ? &created->backend : nullptr;
  return TBK_OK;
}

tbk_status_t refuse(const tbk_host_t* /*host*/, const tbk_backend_t** /*out*/, tbk_error_t* error) {
  std::snprintf(error->message, sizeof error->message, "no driver of version 7");
  return TBK_FAILED;
}

void check_instance_refused(const std::function<void(Whole&)>& spoil, const char* reason,
                            int destructions) {
  Whole whole;
  spoil(whole);
  created = &whole;
  destroyed = 0;
  check_refused([] { create_instance(create, {}, "whole.so"); }, reason);
  TBK_CHECK_EQUAL(destroyed, destructions);
}

void bad_backends_are_refused() {
  check_refused([] { create_instance(refuse, {}, "x.so"); }, "FAILED: no driver of version 7");
  created = nullptr;
  check_refused([] { create_instance(create, {}, "x.so"); }, "gives no table");
  // An instance of a version that is not known, or whose table can't be read, can't be destroyed.
  check_instance_refused([](Whole& w) { w.backend.abi_version = 99; }, "ABI version 99", 0);
  check_instance_refused([](Whole& w) { w.backend.struct_size = 8; }, "cut short", 0);
  check_instance_refused([](Whole& w) { w.backend.struct_size = offsetof(tbk_backend_t, core); },
                         "cut short", 0);
  check_instance_refused([](Whole& w) { w.backend.core = nullptr; }, "no core functions", 0);
  check_instance_refused([](Whole& w) { w.backend.name = nullptr; }, "name is NULL", 1);
  check_instance_refused([](Whole& w) { w.backend.version = nullptr; }, "version is NULL", 1);
  for (const char* name :
       {"", "Acme", "9", "a9", "_a", "a b", "a-b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
    check_instance_refused([name](Whole& w) { w.backend.name = name; }, "small letters", 1);
}

void bad_files_are_refused() {
  auto folder = std::filesystem::temp_directory_path();
  check_refused([&] { open_library(folder / "there is none"); }, "no such file");
  check_refused([&] { open_library(folder); }, "is a directory");
  check_refused([] { open_library("/dev/null"); }, "not a regular file");
  std::string text = folder / ("tbk_not_a_library." + std::to_string(::getpid()));
  std::FILE* file = std::fopen(text.c_str(), "w");
  TBK_CHECK(file != nullptr && std::fputs("not a library\n", file) >= 0 && std::fclose(file) == 0);
  check_refused([&] { open_library(text); }, "is not a library that can be loaded");
  std::filesystem::remove(text);
  Dl_info info;
  TBK_CHECK(dladdr(reinterpret_cast<void*>(&::getpid), &info) != 0);
  check_refused([&] { open_library(info.dli_fname); }, "does not export " TBK_ENTRY_SYMBOL);
}

void a_second_backend_is_refused() {
  Backend& first = Backend::get();
  TBK_CHECK(&Backend::load(first.path(), "") == &first);
  for (const char* path : {"/another.so", first.path().c_str()}) {
    try {
      Backend::load(path, "key=value");
      TBK_CHECK_SEEN(false, path);
    } catch (const c10::Error& error) {
      std::string text = error.what_without_backtrace();
      TBK_CHECK_SEEN(text.find("'" + first.name() + "'") != std::string::npos, text);
    }
  }
  TBK_CHECK(&Backend::get() == &first);
}

const Registration registration({
    {"cut_tables_are_refused", "template", "", cut_tables_are_refused},
    {"short_tables_lack_what_they_are_short_of", "template", "",
     short_tables_lack_what_they_are_short_of},
    {"bad_backends_are_refused", "template", "", bad_backends_are_refused},
    {"bad_files_are_refused", "template", "", bad_files_are_refused},
    {"a_second_backend_is_refused", "template", "", a_second_backend_is_refused},
});

}  // namespace
}  // namespace tbk::test
