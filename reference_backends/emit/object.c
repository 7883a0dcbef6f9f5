/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * object.c: C compiled into shared objects, and loaded.
 */
#include <dlfcn.h>
#include <emit/object.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

enum { PATH_BYTES = 512 };

/* A folder of our own, and what lies in it. */
typedef struct place {
  char folder[PATH_BYTES];
  char source[PATH_BYTES + 16], object[PATH_BYTES + 16], log[PATH_BYTES + 16];
} place_t;

static bool make_place(place_t* place) {
  const char* base = getenv("TMPDIR");
  if (base == NULL || base[0] != '/' || strlen(base) > PATH_BYTES / 2) base = "/tmp";
  snprintf(place->folder, sizeof place->folder, "%s/tbk-emit-XXXXXX", base);
  if (mkdtemp(place->folder) == NULL) return false;
  snprintf(place->source, sizeof place->source, "%s/kernel.c", place->folder);
  snprintf(place->object, sizeof place->object, "%s/kernel.so", place->folder);
  snprintf(place->log, sizeof place->log, "%s/log", place->folder);
  return true;
}

static void remove_place(const place_t* place) {
  unlink(place->source);
  unlink(place->object);
  unlink(place->log);
  rmdir(place->folder);
}

/* Writes two pieces, one behind the other. */
static bool write_file(const char* path, const void* first, size_t first_bytes, const void* second,
                       size_t second_bytes) {
  FILE* file = fopen(path, "we");
  if (file == NULL) return false;
  const bool written = fwrite(first, 1, first_bytes, file) == first_bytes &&
                       fwrite(second, 1, second_bytes, file) == second_bytes;
  return fclose(file) == 0 && written;
}

static bool read_file(const char* path, char** out_bytes, size_t* out_size) {
  FILE* file = fopen(path, "re");
  if (file == NULL) return false;
  char* bytes = NULL;
  if (fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
    *out_size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*out_size);
  }
  const bool whole = bytes != NULL && fread(bytes, *out_size, 1, file) == 1;
  fclose(file);
  if (!whole) free(bytes);
  *out_bytes = whole ? bytes : NULL;
  return whole;
}

static const char* compiler(void) {
  const char* stated = getenv("TBK_HOST_CC");
  return stated != NULL && stated[0] != '\0' ? stated : "cc";
}

/* Returns what the compiler ended with; 127 where there is none. */
static int run_compiler(const place_t* place) {
  const char* arguments[] = {compiler(),
                             "-x",
                             "c",
                             "-std=gnu11",
                             "-O1",
                             "-ffp-contract=off",
                             "-fno-strict-aliasing",
                             "-w",
                             "-shared",
                             "-fPIC",
                             "-o",
                             place->object,
                             place->source,
                             "-lm",
                             NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid = 0;
  int status = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return 127;
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, place->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int failure =
      posix_spawnp(&pid, arguments[0], &actions, NULL, (char* const*)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return 127;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static void read_log(const place_t* place, int result, emit_object_t* out) {
  FILE* file = fopen(place->log, "re");
  snprintf(out->log, sizeof out->log, "the compiler of the host, %.60s, ended with %d", compiler(),
           result);
  if (file == NULL) return;
  char line[sizeof out->log];
  if (result != 127 && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    memcpy(out->log, line, sizeof out->log);
  }
  fclose(file);
}

bool emit_object_compile(const char* first, const char* second, emit_object_t* out) {
  place_t place;
  memset(out, 0, sizeof *out);
  if (!make_place(&place)) {
    snprintf(out->log, sizeof out->log, "no folder for temporary files: %s", strerror(errno));
    return false;
  }
  int result = 125;
  if (write_file(place.source, first, strlen(first), second, strlen(second)))
    result = run_compiler(&place);
  const bool made = result == 0 && read_file(place.object, &out->bytes, &out->size);
  if (!made) read_log(&place, result, out);
  remove_place(&place);
  return made;
}

void* emit_object_load(const void* bytes, size_t size, const char* symbol) {
  place_t place;
  void* library = NULL;
  if (!make_place(&place)) return NULL;
  if (write_file(place.object, bytes, size, "", 0))
    library = dlopen(place.object, RTLD_NOW | RTLD_LOCAL);
  remove_place(&place);
  return library != NULL ? dlsym(library, symbol) : NULL;
}
