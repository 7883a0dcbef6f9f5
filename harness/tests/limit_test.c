/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * limit_test.c: the limit of a group's memory, and how many died of it, as both versions of the kernel's
 * groups tell it.
 */
#include "cgroup.h"
#include "self_test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* const folders[] = {"/a", "/a/b", "/memory", "/memory/c"};
static const struct {
  const char *path, *text;
} files[] = {
    {"/a/memory.max", "4096\n"},
    {"/a/b/memory.max", "max\n"},
    {"/memory/memory.limit_in_bytes", "8192\n"},
    {"/memory/c/memory.limit_in_bytes", "9223372036854771712\n"},
    {"/a/b/memory.events", "low 0\nmax 9\noom 7\noom_kill 3\noom_group_kill 0\n"},
    {"/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"},
    {"/above", "0::/a/b\n"},
    {"/version_1", "3:cpu:/c\n2:memory:/c\n0::/\n"},
    {"/not_mounted", "5:blkio,memory:/of/the/host\n"},
    {"/none", "0::/\n"},
};
enum { FOLDERS = sizeof folders / sizeof *folders, FILES = sizeof files / sizeof *files };

static const char name[] = "/tmp/tbk-limit-XXXXXX";
static char root[sizeof name];

static const char* in_root(const char* path) {
  static char whole[PATH_MAX];
  (void)snprintf(whole, sizeof whole, "%s%s", root, path);
  return whole;
}

static void make_groups(void) {
  memcpy(root, name, sizeof name);
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
  for (size_t i = 0; i < FOLDERS; i++)
    CU_ASSERT_EQUAL(mkdir(in_root(folders[i]), 0700), 0);
  for (size_t i = 0; i < FILES; i++) {
    FILE* file = fopen(in_root(files[i].path), "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(files[i].text, file);
    (void)fclose(file);
  }
}

static void remove_groups(void) {
  for (size_t i = 0; i < FILES; i++)
    (void)unlink(in_root(files[i].path));
  for (size_t i = FOLDERS; i-- > 0;)
    (void)rmdir(in_root(folders[i]));
  CU_ASSERT_EQUAL(rmdir(root), 0);
}

static void the_least_limit_of_a_group_and_those_above_holds(void) {
  make_groups();
  CU_ASSERT_EQUAL(tbk_cgroup_memory(in_root("/above"), root), 4096);
  CU_ASSERT_EQUAL(tbk_cgroup_memory(in_root("/version_1"), root), 8192);
  CU_ASSERT_EQUAL(tbk_cgroup_memory(in_root("/not_mounted"), root), 8192);
  CU_ASSERT_EQUAL(tbk_cgroup_memory(in_root("/none"), root), 0);
  CU_ASSERT_EQUAL(tbk_cgroup_memory(in_root("/no_such_file"), root), 0);
  remove_groups();
}

static void what_a_group_counts_is_told(void) {
  make_groups();
  CU_ASSERT_EQUAL(tbk_cgroup_kills(in_root("/above"), root), 3);
  CU_ASSERT_EQUAL(tbk_cgroup_kills(in_root("/not_mounted"), root), 5);
  CU_ASSERT_EQUAL(tbk_cgroup_kills(in_root("/none"), root), 0);
  CU_ASSERT_EQUAL(tbk_cgroup_kills(in_root("/no_such_file"), root), 0);
  remove_groups();
}

CU_TestInfo tbk_limit_tests[] = {{"the least limit of a group and those above holds",
                                  the_least_limit_of_a_group_and_those_above_holds},
                                 {"what a group counts is told", what_a_group_counts_is_told},
                                 CU_TEST_INFO_NULL};
