/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cache_test.c: machine code kept in files, and whatever may be wrong with these; the argument is the
 * simulated driver, whose NVRTC makes it.
 */
#include <cunit_run.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../nvrtc.h"

enum { SAID = 5, DEADLINE_S = 10, NOBODY = 65534 };

static char folder[] = "/tmp/tbk-cuda-cache-XXXXXX";
static const cuda_nvrtc_t* nvrtc;
static cuda_build_t build = {.options = "-DADD -DOUT=6", .architecture = 90};
static const char bytes[] = "machine code";
static const cuda_image_t image = {(char*)(uintptr_t)bytes, sizeof bytes};

static cuda_key_t key_of(const char* options, int architecture, int minor, bool simulated) {
  const cuda_build_t other = {.options = options, .architecture = architecture};
  return cuda_cache_key(&other, 12, minor, simulated);
}

static bool is_found(cuda_key_t key) {
  cuda_image_t found;
  if (!cuda_cache_read(key, &found)) return false;
  const bool same = found.size == image.size && memcmp(found.bytes, bytes, sizeof bytes) == 0;
  CU_ASSERT_TRUE(same);
  free(found.bytes);
  return same;
}

/* The path of the only file in the folder; what was written aside would be a second one. */
static bool find_file(char* path, size_t path_bytes) {
  DIR* directory = opendir(folder);
  int count = 0;
  for (struct dirent* entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    count++;
    snprintf(path, path_bytes, "%s/%s", folder, entry->d_name);
  }
  if (directory != NULL) closedir(directory);
  return count == 1;
}

static void what_is_kept_is_found_by_its_key_alone(void) {
  const cuda_key_t key = key_of("-DADD -DOUT=6", 90, 8, true);
  CU_ASSERT_FALSE(is_found(key));
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE(is_found(key));
  CU_ASSERT_FALSE(is_found(key_of("-DADD -DOUT=7", 90, 8, true)));
  CU_ASSERT_FALSE(is_found(key_of("-DADD -DOUT=6", 80, 8, true)));
  CU_ASSERT_FALSE(is_found(key_of("-DADD -DOUT=6", 90, 9, true)));
  CU_ASSERT_FALSE(is_found(key_of("-DADD -DOUT=6", 90, 8, false)));
}

/* Cut short at any length, or with any byte changed, or longer: made again, and then right. */
static void a_file_that_is_spoilt_is_not_found(void) {
  const cuda_key_t key = key_of("-DADD -DOUT=6", 90, 8, true);
  char path[4096];
  struct stat status;
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE_FATAL(find_file(path, sizeof path));
  CU_ASSERT_EQUAL_FATAL(stat(path, &status), 0);
  for (off_t at = 0; at <= status.st_size; at++) {
    cuda_cache_write(key, &image);
    FILE* file = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x40, file);
    fclose(file);
    CU_ASSERT_FALSE(is_found(key));
    cuda_cache_write(key, &image);
    CU_ASSERT_EQUAL(truncate(path, at), 0);
    CU_ASSERT_EQUAL(is_found(key), at == status.st_size);
  }
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE(is_found(key));
}

/* It would be loaded, and run. Only root can give a file to another user. */
static void what_others_may_have_written_is_not_found(void) {
  const cuda_key_t key = key_of("-DADD -DOUT=6", 90, 8, true);
  char path[4096];
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE_FATAL(find_file(path, sizeof path));
  static const mode_t others[] = {S_IWGRP, S_IWOTH};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    CU_ASSERT_EQUAL(chmod(path, S_IRUSR | S_IWUSR | others[i]), 0);
    CU_ASSERT_FALSE(is_found(key));
  }
  CU_ASSERT_EQUAL(chmod(path, S_IRUSR | S_IWUSR), 0);
  CU_ASSERT_TRUE(is_found(key));
  if (geteuid() != 0) return;
  CU_ASSERT_EQUAL(chown(path, NOBODY, NOBODY), 0);
  CU_ASSERT_FALSE(is_found(key));
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE(is_found(key));
}

static bool make_link_to_itself(const char* path) {
  return symlink(path, path) == 0;
}

static bool make_pipe(const char* path) {
  return mkfifo(path, S_IRUSR | S_IWUSR) == 0;
}

static bool make_folder(const char* path) {
  return mkdir(path, S_IRWXU) == 0;
}

/* In a child with a deadline: whoever opens a pipe waits for somebody who writes. */
static void what_is_no_file_is_not_waited_for(void) {
  static bool (*const makers[])(const char*) = {make_link_to_itself, make_pipe, make_folder};
  const cuda_key_t key = key_of("-DADD -DOUT=6", 90, 8, true);
  char path[4096];
  cuda_cache_write(key, &image);
  CU_ASSERT_TRUE_FATAL(find_file(path, sizeof path));
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
    CU_ASSERT_EQUAL(remove(path), 0);
    CU_ASSERT_TRUE(makers[i](path));
    pid_t child = fork();
    if (child == 0) {
      alarm(DEADLINE_S);
      _exit(is_found(key) ? 1 : 0);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CU_ASSERT_EQUAL(remove(path), 0);
  cuda_cache_write(key, &image);
}

/* A folder that cannot be: under a file, and none at all. */
static void where_nothing_can_be_kept_nothing_is(void) {
  const cuda_key_t key = key_of("-DMUL -DOUT=6", 90, 8, true);
  static const char* const folders[] = {"/dev/null/cache", "/proc/cache", ""};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    setenv("TBK_CUDA_CACHE", folders[i], 1);
    cuda_cache_write(key, &image);
    CU_ASSERT_FALSE(is_found(key));
  }
  setenv("TBK_CUDA_CACHE", folder, 1);
}

/* A full disk, as far as it can be had: no file may have more than 16 bytes. */
static void a_full_disk_leaves_nothing_behind(void) {
  char path[4096];
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    cuda_cache_write(key_of("-DMM -DOUT=6", 90, 8, true), &image);
    _exit(0);
  }
  int status = -1;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT_TRUE(WIFEXITED(status));
  CU_ASSERT_FALSE(is_found(key_of("-DMM -DOUT=6", 90, 8, true)));
  CU_ASSERT_TRUE(find_file(path, sizeof path));
}

static void processes_at_once_do_no_harm(void) {
  enum { PROCESSES = 4, TURNS = 200 };
  const cuda_key_t key = key_of("-DADD -DOUT=6", 90, 8, true);
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] != 0) continue;
    bool all = true;
    for (int turn = 0; turn < TURNS; turn++) {
      cuda_cache_write(key, &image);
      all = is_found(key) && all;
    }
    _exit(all ? 0 : 1);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(children[i], &status, 0), children[i]);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  char path[4096];
  CU_ASSERT_TRUE(find_file(path, sizeof path));
}

static void a_refusal_is_one_line_that_names_the_kernel(void) {
  cuda_image_t made;
  CU_ASSERT_TRUE_FATAL(cuda_nvrtc_compile(nvrtc, &build, &made));
  CU_ASSERT_TRUE(made.size > 0);
  free(made.bytes);
  build.options = "-DNONE -DOUT=6";
  CU_ASSERT_FALSE(cuda_nvrtc_compile(nvrtc, &build, &made));
  CU_ASSERT_PTR_NOT_NULL(strstr(build.reason, "-DNONE -DOUT=6 on sm_90: no kernel"));
  CU_ASSERT_PTR_NULL(strchr(build.reason, '\n'));
}

/* In a child, since a process opens NVRTC once. */
static void what_was_tried_is_said(void) {
  pid_t child = fork();
  if (child == 0) {
    setenv("TBK_CUDA_NVRTC", "/nowhere/libnvrtc.so", 1);
    execl("/proc/self/exe", "cache_test", (char*)NULL);
    _exit(1);
  }
  int status = -1;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == SAID);
}

static CU_TestInfo tests[] = {
    {"what is kept is found by its key alone", what_is_kept_is_found_by_its_key_alone},
    {"a file that is spoilt is not found", a_file_that_is_spoilt_is_not_found},
    {"what others may have written is not found", what_others_may_have_written_is_not_found},
    {"what is no file is not waited for", what_is_no_file_is_not_waited_for},
    {"where nothing can be kept nothing is", where_nothing_can_be_kept_nothing_is},
    {"a full disk leaves nothing behind", a_full_disk_leaves_nothing_behind},
    {"processes at once do no harm", processes_at_once_do_no_harm},
    {"a refusal is one line that names the kernel", a_refusal_is_one_line_that_names_the_kernel},
    {"what was tried is said", what_was_tried_is_said},
    CU_TEST_INFO_NULL};

int main(int argc, char** argv) {
  CU_SuiteInfo suites[] = {{"cache", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  if (argc != 2) {
    const bool said =
        cuda_nvrtc("") == NULL && strstr(cuda_nvrtc_missing(), "/nowhere/libnvrtc.so");
    return said ? SAID : EXIT_FAILURE;
  }
  unsetenv("TBK_CUDA_NVRTC");
  nvrtc = cuda_nvrtc(argv[1]);
  if (nvrtc == NULL) return EXIT_FAILURE;
  if (mkdtemp(folder) == NULL || setenv("TBK_CUDA_CACHE", folder, 1) != 0) return EXIT_FAILURE;
  const int code = cunit_run(suites);
  char path[4096];
  if (find_file(path, sizeof path)) unlink(path);
  rmdir(folder);
  return code;
}
