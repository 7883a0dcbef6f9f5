/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cache.c: machine code kept in files, one for each kernel. A file is written aside and takes its name
 * when it is whole, so that a crash, or two processes at once, leave nothing half written; and it is
 * held against a sum when it is read.
 */
#include <emit/job.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvrtc.h"

typedef struct header {
  char magic[8];
  cuda_key_t key;
  uint64_t size, sum;
} header_t;

static const char magic[8] = "TBKCUDA1";

enum { FOLDER_BYTES = 3800, IMAGE_MOST = 64 << 20 };

/* FNV-1a. */
static uint64_t sum_of(const void* bytes, size_t size, uint64_t sum) {
  for (const unsigned char *at = bytes, *end = at + size; at < end; at++)
    sum = (sum ^ *at) * UINT64_C(0x100000001b3);
  return sum;
}

cuda_key_t cuda_cache_key(const cuda_build_t* build, int nvrtc_major, int nvrtc_minor,
                          bool simulated) {
  static const uint64_t starts[] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};
  const char* source = build->source != NULL ? build->source : emit_cuda_source;
  char rest[160];
  cuda_key_t key;
  snprintf(rest, sizeof rest, "|%s|sm_%d|%d.%d|%d", build->options, build->architecture,
           nvrtc_major, nvrtc_minor, simulated);
  for (int i = 0; i < 2; i++) {
    const uint64_t sum = sum_of(source, strlen(source), starts[i]);
    key.words[i] = sum_of(rest, strlen(rest), sum);
  }
  return key;
}

static bool find_folder(char* folder) {
  const char* stated = getenv("TBK_CUDA_CACHE");
  const char* base = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  int length = 0;
  if (stated != NULL) {
    length = snprintf(folder, FOLDER_BYTES, "%s", stated);
  } else if (base != NULL && base[0] == '/') {
    length = snprintf(folder, FOLDER_BYTES, "%s/torch-backend-kit/cuda", base);
  } else if (home != NULL && home[0] == '/') {
    length = snprintf(folder, FOLDER_BYTES, "%s/.cache/torch-backend-kit/cuda", home);
  }
  return length > 0 && length < FOLDER_BYTES;
}

static bool find_path(cuda_key_t key, char* path, size_t path_bytes) {
  char folder[FOLDER_BYTES];
  if (!find_folder(folder)) return false;
  snprintf(path, path_bytes, "%s/%016llx%016llx", folder, (unsigned long long)key.words[0],
           (unsigned long long)key.words[1]);
  return true;
}

/* Reads what stands behind a header that fits the key. */
static bool read_image(FILE* file, cuda_key_t key, cuda_image_t* out) {
  header_t header;
  if (fread(&header, sizeof header, 1, file) != 1) return false;
  if (memcmp(header.magic, magic, sizeof magic) != 0 || header.size > IMAGE_MOST) return false;
  if (memcmp(&header.key, &key, sizeof key) != 0) return false;
  char* bytes = malloc(header.size + 1);
  if (bytes == NULL) return false;
  const bool whole = fread(bytes, 1, header.size + 1, file) == header.size &&
                     sum_of(bytes, header.size, 0) == header.sum;
  if (whole) *out = (cuda_image_t){bytes, header.size};
  if (!whole) free(bytes);
  return whole;
}

/* Opens what this user wrote, and nobody else could change: it is code. What is no file is not waited for. */
static FILE* open_own(const char* path) {
  struct stat status;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return NULL;
  const bool own = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  FILE* file = own ? fdopen(descriptor, "rb") : NULL;
  if (file == NULL) close(descriptor);
  return file;
}

bool cuda_cache_read(cuda_key_t key, cuda_image_t* out_image) {
  char path[FOLDER_BYTES + 64];
  if (!find_path(key, path, sizeof path)) return false;
  FILE* file = open_own(path);
  if (file == NULL) return false;
  const bool found = read_image(file, key, out_image);
  fclose(file);
  return found;
}

/* Makes the folders of a path, as far as they are missing and can be made. */
static void make_folders(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool stop = mkdir(path, 0700) != 0 && errno != EEXIST;
    *slash = '/';
    if (stop) return;
  }
}

static bool write_image(int descriptor, const header_t* header, const cuda_image_t* image) {
  FILE* file = fdopen(descriptor, "wb");
  if (file == NULL) {
    close(descriptor);
    return false;
  }
  const bool written = fwrite(header, sizeof *header, 1, file) == 1 &&
                       fwrite(image->bytes, 1, image->size, file) == image->size;
  return fclose(file) == 0 && written;
}

void cuda_cache_write(cuda_key_t key, const cuda_image_t* image) {
  char path[FOLDER_BYTES + 64], aside[sizeof path + 8];
  if (!find_path(key, path, sizeof path)) return;
  make_folders(path);
  header_t header = {.key = key, .size = image->size};
  memcpy(header.magic, magic, sizeof magic);
  header.sum = sum_of(image->bytes, image->size, 0);
  snprintf(aside, sizeof aside, "%s.XXXXXX", path);
  const int descriptor = mkostemp(aside, O_CLOEXEC);
  if (descriptor < 0) return;
  if (!write_image(descriptor, &header, image) || rename(aside, path) != 0) unlink(aside);
}
