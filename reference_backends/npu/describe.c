/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * describe.c: which driver and which operators these are: a result is of them as much as of the device.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

/* The file that a function lies in, by its last name: what is opened is a link, and its end the version. */
static const char* file_of(const void* function, size_t size, char* out_path) {
  void* address = NULL;
  Dl_info found;
  memcpy(&address, function, size);
  if (dladdr(address, &found) == 0 || found.dli_fname == NULL) return "?";
  return realpath(found.dli_fname, out_path) != NULL ? out_path : found.dli_fname;
}

void npu_describe_libraries(char* text, size_t size) {
  char path[PATH_MAX], version[48] = "";
  const acl_runtime_t* acl = npu_acl();
  const acl_operators_t* nn = npu_nn();
  int32_t major = 0, minor = 0, patch = 0;
  if (acl->get_version != NULL && acl->get_version(&major, &minor, &patch) == ACL_OK)
    snprintf(version, sizeof version, " %d.%d.%d", major, minor, patch);
  const int used = snprintf(text, size, "ACL%s %.400s", version,
                            file_of(&acl->device_count, sizeof acl->device_count, path));
  if (nn == NULL) return;
  snprintf(text + used, size - (size_t)used, "; operators %.400s",
           file_of(&nn->create_tensor, sizeof nn->create_tensor, path));
}
