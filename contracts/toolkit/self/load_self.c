/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "load_self.h"

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned failures;

static void expect(tbk_load_result_t expected, tbk_load_result_t seen, const char* word,
                   const tbk_library_t* library, const char* name) {
  bool told = expected == TBK_LOAD_OK || strstr(library->reason, word) != NULL;
  bool one_line = strchr(library->reason, '\n') == NULL;
  if (seen == expected && told && one_line) return;
  failures++;
  printf("load_self.c: %s: expected %d with \"%s\", seen %d: %s\n", name, expected, word, seen,
         library->reason);
}

/* ------------------------------------------------------------------------------------- paths -- */

static void open_path(const char* path, tbk_load_result_t expected, const char* word) {
  tbk_library_t library;
  tbk_load_result_t seen = tbk_library_open(&library, path, NULL);
  expect(expected, seen, word, &library, path);
}

static void open_text(void) {
  char path[] = "/tmp/tbk-selftest-XXXXXX";
  int file = mkstemp(path);
  if (file < 0 || write(file, "no library\n", 11) != 11) abort();
  close(file);
  open_path(path, TBK_LOAD_NOT_LIBRARY, path);
  if (geteuid() != 0 && chmod(path, 0) == 0) open_path(path, TBK_LOAD_UNREADABLE, "ermission");
  unlink(path);
}

/* ------------------------------------------------------------------------------------ tables -- */

static tbk_backend_t table;
static tbk_core_t core;
static tbk_status_t answer;
static const tbk_backend_t* given;

static tbk_status_t create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                           tbk_error_t* error) {
  (void)host;
  if (answer != TBK_OK) {
    snprintf(error->message, sizeof error->message, "first\nsecond");
    return answer;
  }
  *out_backend = given;
  return TBK_OK;
}

static void start_over(void) {
  const tbk_backend_t* good = NULL;
  fake = (fake_settings_t){0};
  if (fake_create(NULL, &good, NULL) != TBK_OK) abort();
  table = *good;
  core = *good->core;
  table.core = &core;
  given = &table;
  answer = TBK_OK;
}

static void try_table(tbk_load_result_t expected, const char* word, const char* name) {
  tbk_library_t library = {.create = create};
  tbk_load_result_t seen = tbk_library_create(&library);
  expect(expected, seen, word, &library, name);
  if ((library.backend != NULL) != (expected == TBK_LOAD_OK)) failures++;
  start_over();
}

/* The table ends where its size says: reading on would end this program. */
static void try_cut_table(size_t size, tbk_load_result_t expected, const char* word) {
  long page = sysconf(_SC_PAGESIZE);
  uint8_t* pages =
      mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, (size_t)page, PROT_NONE) != 0) abort();
  uint8_t* place = pages + page - size;
  memcpy(place, &table, size);
  memcpy(place, &size, sizeof size);
  given = (const tbk_backend_t*)(const void*)place;
  try_table(expected, word, "a table cut short");
  munmap(pages, 2 * (size_t)page);
}

static void tables(void) {
  start_over();
  try_table(TBK_LOAD_OK, "", "a good table");
  answer = TBK_FAILED;
  try_table(TBK_LOAD_REFUSED, "FAILED: first second", "a refusal");
  given = NULL;
  try_table(TBK_LOAD_BAD_TABLE, "no table", "no table");
  table.struct_size = 0;
  try_table(TBK_LOAD_BAD_TABLE, "0 bytes", "size 0");
  table.struct_size = SIZE_MAX;
  try_table(TBK_LOAD_BAD_TABLE, "bytes", "size huge");
  table.struct_size = 65536;
  try_table(TBK_LOAD_BAD_TABLE, "65536 bytes", "size 65536");
  table.abi_version = 99;
  try_table(TBK_LOAD_WRONG_VERSION, "99", "wrong version");
  table.name = NULL;
  try_table(TBK_LOAD_BAD_TABLE, "name", "no name");
  table.name = "Not A Name";
  try_table(TBK_LOAD_OK, "", "a bad name, which a test finds");
  table.version = NULL;
  try_table(TBK_LOAD_BAD_TABLE, "version", "no version");
  table.core = NULL;
  try_table(TBK_LOAD_BAD_TABLE, "core", "no core");
  core.struct_size = 24;
  try_table(TBK_LOAD_BAD_TABLE, "24 bytes", "core cut short");
  core.struct_size = SIZE_MAX / 2;
  try_table(TBK_LOAD_BAD_TABLE, "bytes", "core huge");
  core.download = NULL;
  try_table(TBK_LOAD_BAD_TABLE, "download is NULL", "entry missing");
  for (size_t size = sizeof(size_t); size < offsetof(tbk_backend_t, stream);
       size += sizeof(size_t)) {
    try_cut_table(size, TBK_LOAD_BAD_TABLE, "bytes");
  }
  for (size_t size = offsetof(tbk_backend_t, stream); size <= sizeof table;
       size += sizeof(size_t)) {
    try_cut_table(size, TBK_LOAD_OK, "");
  }
}

unsigned load_self(const char* library_without_entry) {
  open_path("/no/such/file.so", TBK_LOAD_UNREADABLE, "No such file");
  open_path("/tmp", TBK_LOAD_UNREADABLE, "directory");
  open_path("/dev/null", TBK_LOAD_UNREADABLE, "regular file");
  open_text();
  if (library_without_entry != NULL) {
    open_path(library_without_entry, TBK_LOAD_NO_SYMBOL, "tbk_backend_create");
  }
  tables();
  return failures;
}
