/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <driver/entry.h>
#include <emit/job.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef char paths_t[DRIVER_PATHS][DRIVER_PATH_BYTES];

/* Which of the keys an option has, and where its path begins; -1 for none. */
static int find_key(const driver_choice_t* choice, const char* option, size_t length,
                    size_t* out_skip) {
  for (int i = 0; i < DRIVER_PATHS && choice->keys[i] != NULL; i++) {
    const size_t skip = strlen(choice->keys[i]) + 1;
    *out_skip = skip;
    if (length > skip && length - skip < DRIVER_PATH_BYTES && option[skip - 1] == '=' &&
        strncmp(option, choice->keys[i], skip - 1) == 0)
      return i;
  }
  return -1;
}

static tbk_status_t parse(const driver_choice_t* choice, const char* text, paths_t paths,
                          tbk_error_t* error) {
  const char* second = choice->keys[1];
  while (*text != '\0') {
    size_t skip, length = strcspn(text, ",");
    const int key = find_key(choice, text, length, &skip);
    if (key < 0)
      return emit_fail(error, TBK_INVALID, "not %s=PATH%s%s%s: %.200s", choice->keys[0],
                       second ? " or " : "", second ? second : "", second ? "=PATH" : "", text);
    snprintf(paths[key], DRIVER_PATH_BYTES, "%.*s", (int)(length - skip), text + skip);
    if (access(paths[key], R_OK) != 0)
      return emit_fail(error, TBK_INVALID, "the %s cannot be read: %.200s", choice->keys[key],
                       paths[key]);
    text += length + (text[length] == ',');
  }
  return TBK_OK;
}

tbk_status_t driver_choose(driver_choice_t* choice, const char* options, tbk_error_t* error) {
  paths_t paths = {"", ""};
  const bool stated = options != NULL && options[0] != '\0';
  const tbk_status_t status = stated ? parse(choice, options, paths, error) : TBK_OK;
  if (status != TBK_OK) return status;
  pthread_mutex_lock(&choice->lock);
  if (stated && !choice->made) memcpy(choice->paths, paths, sizeof paths);
  bool fits = true;
  for (int i = 0; i < DRIVER_PATHS && stated; i++)
    fits = fits && strcmp(choice->paths[i], paths[i]) == 0;
  choice->made = true;
  pthread_mutex_unlock(&choice->lock);
  if (fits) return TBK_OK;
  return emit_fail(error, TBK_INVALID_STATE, "this process has another driver already");
}

tbk_status_t driver_check_host(const tbk_host_t* host, const tbk_backend_t** out_backend,
                               tbk_error_t* error) {
  if (host == NULL || out_backend == NULL || host->struct_size < sizeof(tbk_host_t))
    return emit_fail(error, TBK_INVALID, "host or out_backend is NULL, or host is too small");
  if (host->abi_version == TBK_ABI_VERSION) return TBK_OK;
  return emit_fail(error, TBK_UNSUPPORTED, "ABI version %llu is not known here",
                   (unsigned long long)host->abi_version);
}

tbk_status_t driver_give_properties(const tbk_device_properties_t* properties,
                                    tbk_device_properties_t* out_properties, tbk_error_t* error) {
  if (out_properties == NULL || out_properties->struct_size < sizeof(size_t))
    return emit_fail(error, TBK_INVALID, "out_properties is NULL or has no size");
  tbk_device_properties_t all = *properties;
  all.struct_size = out_properties->struct_size;
  memcpy(out_properties, &all, all.struct_size < sizeof all ? all.struct_size : sizeof all);
  return TBK_OK;
}

void driver_log(const tbk_host_t* host, int32_t level, const char* format, ...) {
  char text[1024];
  va_list arguments;
  if (host->log == NULL) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  host->log(host->context, level, text);
}

void driver_tell(const tbk_host_t* host, tbk_status_t status, const tbk_error_t* error) {
  if (status != TBK_OK && status != TBK_DEVICE_LOST)
    driver_log(host, TBK_LOG_WARNING, "%s", error->message);
}
