/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * describe.c: which driver and which operators these are: a result is of them as much as of the device.
 */
#include <driver/library.h>
#include <stdio.h>

#include "library.h"

void npu_describe_libraries(char* text, size_t size) {
  char file[401], version[48] = "";
  const acl_runtime_t* acl = npu_acl();
  const acl_operators_t* nn = npu_nn();
  int32_t major = 0, minor = 0, patch = 0;
  if (acl->get_version != NULL && acl->get_version(&major, &minor, &patch) == ACL_OK)
    snprintf(version, sizeof version, " %d.%d.%d", major, minor, patch);
  library_file_of(&acl->device_count, sizeof acl->device_count, file, sizeof file);
  const int used = snprintf(text, size, "ACL%s %s", version, file);
  if (nn == NULL) {
    snprintf(text + used, size - (size_t)used, "; no operators: %s", npu_nn_reason());
    return;
  }
  library_file_of(&nn->create_tensor, sizeof nn->create_tensor, file, sizeof file);
  snprintf(text + used, size - (size_t)used, "; operators %s", file);
}
