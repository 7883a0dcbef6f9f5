/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.h: what a device says of itself.
 */
#ifndef TBK_DEVICE_H
#define TBK_DEVICE_H

#include <tbk/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TBK_DEVICE_FLAT_ADDRESS = 1 << 0,      /* handle + n is the location n bytes further on */
  TBK_DEVICE_HOST_VISIBLE = 1 << 1,      /* the handle is a pointer that the host may dereference */
  TBK_DEVICE_CROSS_DEVICE_WAIT = 1 << 2, /* event_wait accepts an event of another device */
  TBK_DEVICE_EXCLUSIVE = 1 << 3,         /* one process at a time may have it open */
  TBK_DEVICE_PHILOX = 1 << 4,            /* random_bits is Philox4x32-10 in the layout it states */
  TBK_DEVICE_SIMULATED = 1 << 5, /* its driver is a simulator: nothing of hardware is shown */
  TBK_DEVICE_FLAGS_KNOWN = (1 << 6) - 1
};

typedef struct tbk_device_properties {
  size_t struct_size;
  const char* name; /* for people; borrowed, lives as long as the instance */
  uint64_t flags;
  uint64_t memory_bytes;     /* in total; 0 where it is not known, but then at least 64 MiB */
  uint64_t memory_alignment; /* bytes; a power of two, at least 16 */
  uint64_t copy_granularity; /* bytes; a power of two, 1 where any byte can be addressed */
  uint64_t dtypes;           /* bit n: kernels accept the dtype with the value n */
  int32_t max_rank;          /* of the tensors that kernels accept */
  int32_t priority_least;    /* of streams; lower comes first, as in PyTorch; 0 is between */
  int32_t priority_greatest;
  int32_t zero;
  uint64_t max_allocation_bytes; /* in one allocation; 0 where no limit but the memory is known */
  const char*
      driver; /* for people: what it runs on, with versions and paths; NULL: nothing to say */
} tbk_device_properties_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_DEVICE_H */
