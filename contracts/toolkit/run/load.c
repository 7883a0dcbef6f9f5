/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From a path to a table that may be used. Each way to go wrong gets one clear line.
 */
#include "arithmetic.h"
#include "resources.h"
#include "tables.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int threads_started;

int tbk_library_threads_started(void) {
  return threads_started;
}

/*
 * Each test counts. Unsharing threads does nothing where there is one, and else is refused. The folder
 * has a link for itself, one for its name and one for each thread: no need to list it.
 */
int tbk_count_threads(void) {
  struct stat status;
  if (unshare(CLONE_THREAD) == 0) return 1;
  if (stat("/proc/self/task", &status) == 0 && status.st_nlink > 2) return (int)status.st_nlink - 2;
  DIR* tasks = opendir("/proc/self/task"); /* an emulated /proc may not count */
  if (tasks == NULL) return 1;
  int count = 0;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static tbk_load_result_t refuse(tbk_library_t* library, tbk_load_result_t result,
                                const char* format, ...) __attribute__((format(printf, 3, 4)));

static tbk_load_result_t refuse(tbk_library_t* library, tbk_load_result_t result,
                                const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(library->reason, sizeof library->reason, format, arguments);
  va_end(arguments);
  for (char* c = library->reason; *c != '\0'; c++) {
    if (iscntrl((unsigned char)*c)) *c = ' ';
  }
  return result;
}

/* What dlopen would wait for, or say less clearly. */
static tbk_load_result_t check_file(tbk_library_t* library, const char* path) {
  struct stat status;
  if (stat(path, &status) != 0) {
    return refuse(library, TBK_LOAD_UNREADABLE, "%s: %s", path, strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return refuse(library, TBK_LOAD_UNREADABLE, "%s: is a directory, not a library", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return refuse(library, TBK_LOAD_UNREADABLE, "%s: is not a regular file", path);
  }
  return TBK_LOAD_OK;
}

/* dlopen failed, because of the file or of what is in it. */
static tbk_load_result_t refuse_file(tbk_library_t* library, const char* path, const char* why) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return refuse(library, TBK_LOAD_UNREADABLE, "%s: %s", path, strerror(errno));
  }
  close(file);
  return refuse(library, TBK_LOAD_NOT_LIBRARY, "%s: is not a library that can be loaded: %s", path,
                why != NULL ? why : "no reason given");
}

static _Thread_local char last_warning[512];

const char* tbk_library_warning(void) {
  return last_warning;
}

enum { UNVERIFIED_LIMIT = 32 };
static _Thread_local char unverified[UNVERIFIED_LIMIT][512];
static _Thread_local size_t unverified_count;

const char* tbk_library_unverified(size_t index) {
  return index < unverified_count ? unverified[index] : NULL;
}

static bool take_unverified(const char* message) {
  static const size_t skip = sizeof TBK_LOG_UNVERIFIED - 1;
  if (strncmp(message, TBK_LOG_UNVERIFIED, skip) != 0) return false;
  if (unverified_count < UNVERIFIED_LIMIT)
    snprintf(unverified[unverified_count++], sizeof *unverified, "%s", message + skip);
  return true;
}

/* A backend's warnings stand among what it prints; that a log may be missing is for a test. */
static void log_warnings(void* context, int32_t level, const char* message) {
  (void)context;
  if (message == NULL || (level == TBK_LOG_INFO && take_unverified(message))) return;
  if (level < TBK_LOG_WARNING) return;
  snprintf(last_warning, sizeof last_warning, "%s", message);
  fprintf(stderr, "backend: %s\n", message);
}

tbk_load_result_t tbk_library_open(tbk_library_t* library, const char* path, const char* options) {
  memset(library, 0, sizeof *library);
  library->host = (tbk_host_t){.struct_size = sizeof library->host,
                               .abi_version = TBK_ABI_VERSION,
                               .log = log_warnings,
                               .options = options};
  tbk_load_result_t result = check_file(library, path);
  if (result != TBK_LOAD_OK) return result;
  char local[300]; /* without a slash, dlopen would look elsewhere; no name has more than 255 */
  if (strchr(path, '/') == NULL) snprintf(local, sizeof local, "./%s", path);
  int before = tbk_count_threads();
  tbk_arithmetic_note();
  library->handle = dlopen(strchr(path, '/') ? path : local, RTLD_NOW | RTLD_LOCAL);
  tbk_arithmetic_restore();
  threads_started = tbk_count_threads() - before;
  if (library->handle == NULL) return refuse_file(library, path, dlerror());
  void* symbol = dlsym(library->handle, TBK_ENTRY_SYMBOL);
  if (symbol == NULL) {
    return refuse(library, TBK_LOAD_NO_SYMBOL, "%s: does not export %s", path, TBK_ENTRY_SYMBOL);
  }
  memcpy(&library->create, &symbol, sizeof symbol);
  return TBK_LOAD_OK;
}

#define NAME(table, type, function) #function,
static const char* const core_names[] = {TBK_MANDATORY_core(NAME)};

static tbk_load_result_t check_core(tbk_library_t* library, const tbk_core_t* core) {
  if (core == NULL) return refuse(library, TBK_LOAD_BAD_TABLE, "the table has no core functions");
  size_t size = tbk_table_size(core);
  if (!tbk_table_size_valid(core, TBK_CORE_ENTRIES)) {
    return refuse(library, TBK_LOAD_BAD_TABLE,
                  "the core table says that it has %zu bytes; %zu to %d are possible", size,
                  offsetof(tbk_core_t, fill), TBK_TABLE_SIZE_LIMIT - 1);
  }
  size_t null = tbk_table_first_null(core, TBK_CORE_ENTRIES);
  if (null < TBK_CORE_ENTRIES) {
    return refuse(library, TBK_LOAD_BAD_TABLE, "the mandatory core function %s is NULL",
                  core_names[null]);
  }
  return TBK_LOAD_OK;
}

/* Reads a member only when struct_size is known to cover it. */
static tbk_load_result_t check_backend(tbk_library_t* library, const tbk_backend_t* backend) {
  size_t least = offsetof(tbk_backend_t, stream);
  size_t size = tbk_table_size(backend);
  if (size < offsetof(tbk_backend_t, name) || size >= TBK_TABLE_SIZE_LIMIT) {
    return refuse(library, TBK_LOAD_BAD_TABLE,
                  "the backend's table says that it has %zu bytes; %zu to %d are possible", size,
                  least, TBK_TABLE_SIZE_LIMIT - 1);
  }
  if (backend->abi_version != TBK_ABI_VERSION) {
    return refuse(library, TBK_LOAD_WRONG_VERSION, "the backend has ABI version %llu, this is %d",
                  (unsigned long long)backend->abi_version, TBK_ABI_VERSION);
  }
  if (size < least) {
    return refuse(library, TBK_LOAD_BAD_TABLE,
                  "the backend's table is cut short: %zu bytes, at least %zu are needed", size,
                  least);
  }
  if (backend->name == NULL) { /* whether it is a good one is for a test to say */
    return refuse(library, TBK_LOAD_BAD_TABLE, "the backend's name is NULL");
  }
  if (backend->version == NULL) {
    return refuse(library, TBK_LOAD_BAD_TABLE, "the backend's version is NULL");
  }
  return check_core(library, backend->core);
}

tbk_load_result_t tbk_library_create(tbk_library_t* library) {
  tbk_error_t error = {""};
  const tbk_backend_t* backend = NULL;
  int before = tbk_count_threads();
  tbk_status_t status = library->create(&library->host, &backend, &error);
  tbk_arithmetic_restore();
  threads_started += tbk_count_threads() - before;
  if (status != TBK_OK) {
    return refuse(library, TBK_LOAD_REFUSED, "%s answers %s%s%.*s", TBK_ENTRY_SYMBOL,
                  tbk_status_name(status), error.message[0] != '\0' ? ": " : "",
                  (int)sizeof error.message, error.message);
  }
  if (backend == NULL) {
    return refuse(library, TBK_LOAD_BAD_TABLE, "%s answers OK and gives no table",
                  TBK_ENTRY_SYMBOL);
  }
  tbk_load_result_t result = check_backend(library, backend);
  if (result == TBK_LOAD_OK) library->backend = backend;
  return result;
}
