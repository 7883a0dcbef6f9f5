// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <tbk/tables.h>

#include <string>

namespace tbk {

/// Holds the backend's tables, each as long as this side knows it: what the backend's own struct is
/// too short for, or has not got, is NULL. Whether a table is there at all: its bool; then all of
/// it is there but what tbk.h calls optional.
struct Tables {
  tbk_core_t core{};
#define TBK_BRIDGE_TABLE(name, type, needs) \
  type name{};                              \
  bool has_##name = false;
  TBK_TABLE_MAP(TBK_BRIDGE_TABLE)  // stream, has_stream, event, has_event, ...
#undef TBK_BRIDGE_TABLE
};

/// Returns the entry point of the library at `path`, which has a slash and stays loaded from here
/// on.
/// Errors: ValueError where there is no such file, it is no library, or it is no backend.
tbk_backend_create_fn open_library(const std::string& path);

/// Calls `create`, and returns what it gives: it is there, of this ABI version, has a good name and
/// is long enough to be read up to `instance`. `path` is for messages. Errors: ValueError; then
/// there is no instance.
const tbk_backend_t& create_instance(tbk_backend_create_fn create, const tbk_host_t& host,
                                     const std::string& path);

/// Destroys the instance, where its table is one that can be read.
void destroy_instance(const tbk_backend_t& backend) noexcept;

/// Returns a copy of the tables of `backend`. Errors: ValueError where a table is cut short, lacks
/// a function that it must have, or needs another one that is not there.
Tables copy_tables(const tbk_backend_t& backend, const std::string& path);

}  // namespace tbk
