/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * context.c: the default contexts of devices, which a process shares, and what threads have current.
 */
#include <string.h>

#include "npu.h"

typedef struct shared {
  acl_context context;           /* as it was last opened here */
  int opens;                     /* by how many instances it is open */
  bool reaches[NPU_MAX_DEVICES]; /* enabled from here to there, and back */
} shared_t;

static shared_t shared[NPU_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static acl_result current(acl_context* out_context) {
  *out_context = NULL;
  acl_result result = npu_acl()->get_context(out_context);
  if (result != ACL_CONTEXT_NULL) return result;
  *out_context = NULL;
  return ACL_OK;
}

/* Whether it is the context of a device that was reset: that one must not be set (D 0061). With the lock. */
static bool is_gone(acl_context context) {
  bool gone = false;
  for (int32_t i = 0; i < NPU_MAX_DEVICES; i++) {
    uint32_t flags = 0;
    int32_t active = 0;
    if (shared[i].context != context) continue;
    if (shared[i].opens > 0) return false;
    gone = npu_acl()->default_context == NULL || /* others may hold it */
           npu_acl()->default_context(i, &flags, &active) != ACL_OK || active == 0;
  }
  return gone;
}

/* Sets it also where the thread has that handle: it may be of before a reset by another thread. */
acl_result npu_context_swap(acl_context context, npu_entry_t* out_entry) {
  acl_context before;
  acl_result result = current(&before);
  if (result != ACL_OK) return result;
  out_entry->saved = before == context ? NULL : before;
  return npu_acl()->set_context(context);
}

acl_result npu_context_put_back(const npu_entry_t* entry) {
  if (entry->saved == NULL) return ACL_OK;
  pthread_mutex_lock(&lock); /* nobody resets the device meanwhile */
  acl_result result = is_gone(entry->saved) ? ACL_OK : npu_acl()->set_context(entry->saved);
  pthread_mutex_unlock(&lock);
  return result;
}

acl_result npu_context_open(int32_t device, acl_context* out_context) {
  npu_entry_t entry;
  acl_context context = NULL;
  acl_result result = current(&entry.saved);
  if (result != ACL_OK) return result;
  pthread_mutex_lock(&lock);
  result = npu_acl()->set_device(device);
  if (result == ACL_OK) {
    result = current(&context);
    if (result == ACL_OK && context == NULL) result = ACL_CONTEXT_NULL;
    if (result != ACL_OK) npu_acl()->reset_device(device);
    /* What the thread is left with is gone, and must be known for that. */
    if (result != ACL_OK && shared[device].opens == 0 && current(&context) == ACL_OK &&
        context != entry.saved)
      shared[device].context = context;
  }
  if (result == ACL_OK) {
    shared[device].context = context;
    shared[device].opens++;
    npu_count_open(1);
  }
  pthread_mutex_unlock(&lock);
  acl_result back = npu_context_put_back(&entry);
  if (result == ACL_OK && back != ACL_OK) npu_context_close(device);
  if (result == ACL_OK) result = back;
  if (result == ACL_OK) *out_context = context;
  return result;
}

acl_result npu_context_close(int32_t device) {
  pthread_mutex_lock(&lock);
  shared_t* mine = &shared[device];
  if (--mine->opens == 0) {
    memset(mine->reaches, 0, sizeof mine->reaches);
    for (int32_t i = 0; i < NPU_MAX_DEVICES; i++)
      shared[i].reaches[device] = false;
  }
  npu_count_open(-1);
  acl_result result = npu_acl()->reset_device(device);
  pthread_mutex_unlock(&lock);
  return result;
}

static acl_result enable(acl_context context, int32_t peer, bool* out_enabled) {
  npu_entry_t entry;
  acl_result result = npu_context_swap(context, &entry);
  if (result != ACL_OK) return result;
  *out_enabled = npu_acl()->peer_enable(peer, 0) == ACL_OK;
  return npu_context_put_back(&entry);
}

acl_result npu_context_reach(int32_t device, acl_context context, int32_t peer,
                             acl_context peer_context, bool* out_reaches) {
  const acl_runtime_t* acl = npu_acl();
  int32_t can = 0;
  bool there = false, back = false;
  pthread_mutex_lock(&lock);
  *out_reaches = shared[device].reaches[peer];
  pthread_mutex_unlock(&lock);
  if (*out_reaches || acl->peer_can_access == NULL || acl->peer_enable == NULL) return ACL_OK;
  if (acl->peer_can_access(&can, device, peer) != ACL_OK || can == 0) return ACL_OK;
  acl_result result = enable(context, peer, &there);
  if (result == ACL_OK && there) result = enable(peer_context, device, &back);
  if (result != ACL_OK || !there || !back) return result;
  pthread_mutex_lock(&lock);
  shared[device].reaches[peer] = shared[peer].reaches[device] = true;
  pthread_mutex_unlock(&lock);
  *out_reaches = true;
  return ACL_OK;
}
