/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * exclusive.c: one process at a time. A POSIX record lock is used because it belongs to a process:
 * a forked child neither has it nor can lose it for its parent. As the lock goes when the process
 * closes any descriptor of the file, machines of one process share one descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inside.h"

struct vdev_lock_file {
  struct vdev_lock_file* next;
  int file;
  int refs;
  int32_t device;
  pid_t owner;
  char path[sizeof((vdev_config_t*)0)->exclusive];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vdev_lock_file* files; /* one for each path and device; they stay */

/* Byte `device` of the file is locked. */
static bool set_lock(struct vdev_lock_file* file, short type) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = file->device, .l_len = 1};
  return fcntl(file->file, F_SETLK, &range) == 0;
}

static struct vdev_lock_file* find(const char* path, int32_t device) {
  struct vdev_lock_file* file = files;
  while (file && (strcmp(file->path, path) != 0 || file->device != device))
    file = file->next;
  if (file) return file;
  struct vdev_lock_file* same_path = files;
  while (same_path && strcmp(same_path->path, path) != 0)
    same_path = same_path->next;
  file = calloc(1, sizeof *file);
  if (!file) return NULL;
  file->device = device;
  strcpy(file->path, path);
  file->file = same_path ? same_path->file : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file->file < 0) {
    int reason = errno;
    free(file);
    errno = reason;
    return NULL;
  }
  file->next = files;
  files = file;
  return file;
}

vdev_status_t vdev_lock_file_take(const char* path, int32_t device,
                                  struct vdev_lock_file** out_file) {
  vdev_status_t status = VDEV_OK;
  pthread_mutex_lock(&lock);
  struct vdev_lock_file* file = find(path, device);
  if (!file) {
    status = VDEV_FAILED;
  } else {
    if (file->owner != getpid()) file->refs = 0; /* what a parent holds is not ours */
    if (file->refs == 0 && !set_lock(file, F_WRLCK)) status = VDEV_BUSY;
  }
  if (status == VDEV_OK) {
    file->owner = getpid();
    file->refs++;
    *out_file = file;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void vdev_lock_file_give(struct vdev_lock_file* file) {
  if (!file) return;
  pthread_mutex_lock(&lock);
  if (file->owner == getpid() && --file->refs == 0) set_lock(file, F_UNLCK);
  pthread_mutex_unlock(&lock);
}
