/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: what the shim must know of the driver.
 */
#include <string.h>

#include "shim.h"

/* Memory, too, of a device or pinned. */
const shim_handle_t shim_handles[] = {{"acl_result", 0, 0},
                                      {"acl_context", 0, sizeof(void*)},
                                      {"acl_stream", 0, sizeof(void*)},
                                      {"acl_event", 0, sizeof(void*)},
                                      {"acl_", 1, sizeof(void*)},
                                      {"void", 1, sizeof(void*)},
                                      {NULL, 0, 0}};

/* Errors of work stop a context whose streams stop on failure: 5xxxxx in the list of codes. */
bool shim_is_sticky(int result) {
  return result == ACL_AICORE_TIMEOUT || result == ACL_AICORE_EXCEPTION;
}

/* What issues work or waits for it. */
bool shim_meets_sticky(const char* symbol) {
  static const char* const issuing[] = {"aclrtMemcpy",      "aclrtMemset",       "aclrtSynchronize",
                                        "aclrtRecordEvent", "aclrtStream",       "aclrtLaunch",
                                        "aclrtQueryEvent",  "aclrtEventElapsed", "aclnn"};
  for (size_t i = 0; i < sizeof issuing / sizeof *issuing; i++)
    if (strncmp(symbol, issuing[i], strlen(issuing[i])) == 0)
      return strstr(symbol, "GetWorkspaceSize") == NULL;
  return false;
}
