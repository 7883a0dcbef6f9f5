/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cgroup.c: see cgroup.h. In a container the path may be one of the host's, which is not mounted: then
 * the root of what is mounted is the group.
 */
#include "cgroup.h"

#include "text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Version 1 says "no limit" with a number, near the greatest. */
#define NO_LIMIT (UINT64_C(1) << 60)

static uint64_t less(uint64_t a, uint64_t b) {
  return b != 0 && (a == 0 || b < a) ? b : a;
}

static uint64_t read_limit(const char* root, const char* folder, const char* path,
                           const char* name) {
  char file[PATH_MAX];
  unsigned long long bytes = 0;
  tbk_print(file, sizeof file, "%s%s%s/%s", root, folder, path, name);
  FILE* stream = fopen(file, "re");
  if (stream == NULL) return 0;
  const bool is_number = fscanf(stream, "%llu", &bytes) == 1; /* else "max" */
  (void)fclose(stream);
  return is_number && bytes < NO_LIMIT ? bytes : 0;
}

/* Of the group and of all that it is in. `path` is cut. */
static uint64_t least(const char* root, const char* folder, char* path, const char* name) {
  uint64_t bytes = read_limit(root, folder, path, name);
  for (char* end = strrchr(path, '/'); end != NULL; end = strrchr(path, '/')) {
    *end = '\0';
    bytes = less(bytes, read_limit(root, folder, path, name));
  }
  return bytes;
}

uint64_t tbk_cgroup_memory(const char* groups, const char* root) {
  char line[PATH_MAX];
  uint64_t bytes = 0;
  FILE* stream = fopen(groups, "re");
  while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
    char* path = strchr(line, '/');
    if (path == NULL) continue;
    const size_t names = (size_t)(path - line); /* "0::", or "4:cpu,memory:" */
    path[strcspn(path, "\n")] = '\0';
    if (strncmp(line, "0::", names) == 0)
      bytes = less(bytes, least(root, "", path, "memory.max"));
    else if (memmem(line, names, "memory", strlen("memory")) != NULL)
      bytes = less(bytes, least(root, "/memory", path, "memory.limit_in_bytes"));
  }
  if (stream != NULL) (void)fclose(stream);
  return bytes;
}
