/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * child.h: a child process of a test, for what can only be seen there. Its body makes no checks: it
 * answers with a code, 0 for success, and the parent checks that.
 */
#ifndef TBK_CONTRACTS_CHILD_H
#define TBK_CONTRACTS_CHILD_H

#include <sys/types.h>

#include "fixture.h"

typedef struct tbk_child {
  pid_t pid;
  int from_child; /* ends with the child, however it ends */
  int to_child;   /* closed by tbk_child_release */
  int released;   /* the child's end of it */
  int said;       /* the child's end of from_child */
} tbk_child_t;

typedef int (*tbk_child_fn)(tbk_child_t* self, void* argument);

/* How the child ends after its body: by exit(), with all destructors, or by _exit(). */
enum { TBK_CHILD_EXIT, TBK_CHILD_QUICK_EXIT };

/* Forks; REQUIREs that it works. */
void tbk_child_start(tbk_fixture_t* fx, tbk_child_t* child, tbk_child_fn body, void* argument,
                     int ending);
/* In the child: says that it has got so far; and waits for the parent's release. */
void tbk_child_say(tbk_child_t* self);
void tbk_child_await(tbk_child_t* self);
/* In the parent: waits for the child's word; false if it ended, or said nothing in time. */
bool tbk_child_heard(tbk_child_t* child);
void tbk_child_release(tbk_child_t* child);

/* Releases it, waits for its end, kills it when it does not come, and CHECKs that it ended with 0. */
#define CHILD_CHECK_END(child) tbk_child_check_end((child), TBK_HERE("the child process"))
bool tbk_child_check_end(tbk_child_t* child, tbk_here_t here);

/* What failed, and the clause that it is of; both NULL for nothing, `clause` where it is not known. */
typedef struct tbk_trouble {
  const char *step, *clause;
} tbk_trouble_t;

/*
 * Memory of an open device goes there, from one place to another, and back. For children too: makes no
 * checks.
 */
tbk_trouble_t tbk_device_trouble(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                                 uint64_t seed);
/* CHECKs the same, of a device by whatever instance, and names the clause of what failed. */
#define CHECK_DEVICE_WORKS(core, self, device, expected) \
  tbk_check_device_works(fx, (core), (self), (device), (expected), TBK_HERE("the device works"))
bool tbk_check_device_works(const tbk_fixture_t* fx, const tbk_core_t* core, tbk_instance_t* self,
                            int32_t device, const char* expected, tbk_here_t here);
/* Opens in a child, or after one: who has only just let go of the device may take long to be through. */
tbk_status_t tbk_open_patiently(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                                tbk_error_t* error);

#endif /* TBK_CONTRACTS_CHILD_H */
