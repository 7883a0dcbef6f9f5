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

typedef uint64_t (*ask_t)(const char* root, const char* folder, char* path, bool unified);

static uint64_t limit_of(const char* root, const char* folder, char* path, bool unified) {
  return least(root, folder, path, unified ? "memory.max" : "memory.limit_in_bytes");
}

/* Of the group alone: those that it is in count their own, too. */
static uint64_t kills_of(const char* root, const char* folder, char* path, bool unified) {
  const char* name = unified ? "memory.events" : "memory.oom_control";
  char file[PATH_MAX], line[128];
  unsigned long long kills = 0;
  tbk_print(file, sizeof file, "%s%s%s/%s", root, folder, path, name);
  FILE* stream = fopen(file, "re");
  if (stream == NULL && path[0] != '\0')
    return kills_of(root, folder, path + strlen(path), unified);
  while (stream != NULL && fgets(line, sizeof line, stream) != NULL)
    if (sscanf(line, "oom_kill %llu", &kills) == 1) break;
  if (stream != NULL) (void)fclose(stream);
  return kills;
}

/* Returns the least that is not 0 of what `ask` finds for each version of groups. `ask` may cut the path. */
static uint64_t each_group(const char* groups, const char* root, ask_t ask) {
  char line[PATH_MAX];
  uint64_t found = 0;
  FILE* stream = fopen(groups, "re");
  while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
    char* path = strchr(line, '/');
    if (path == NULL) continue;
    const size_t names = (size_t)(path - line); /* "0::", or "4:cpu,memory:" */
    path[strcspn(path, "\n")] = '\0';
    if (strncmp(line, "0::", names) == 0)
      found = less(found, ask(root, "", path, true));
    else if (memmem(line, names, "memory", strlen("memory")) != NULL)
      found = less(found, ask(root, "/memory", path, false));
  }
  if (stream != NULL) (void)fclose(stream);
  return found;
}

uint64_t tbk_cgroup_memory(const char* groups, const char* root) {
  return each_group(groups, root, limit_of);
}

uint64_t tbk_cgroup_kills(const char* groups, const char* root) {
  return each_group(groups, root, kills_of);
}
