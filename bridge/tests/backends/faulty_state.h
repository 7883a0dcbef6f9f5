/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faulty_state.h: what the files of this backend share.
 */
#ifndef TBK_FAULTY_STATE_H
#define TBK_FAULTY_STATE_H

#include <stdatomic.h>
#include <stddef.h>

#include "faulty.h"

extern const tbk_backend_t* faulty_inner;
extern atomic_int_fast64_t faulty_plans;

/* The status that this call has to answer, TBK_OK for going on. */
tbk_status_t faulty_fate(int call, tbk_error_t* error);
/* Adds `change` to `live` if the call went well and there was something. Returns `status`. */
tbk_status_t faulty_counted(tbk_status_t status, bool something, atomic_int_fast64_t* live,
                            int change);

const tbk_kernel_t* faulty_kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version);

#define FAULTY_FATE(function)                                        \
  do {                                                               \
    const tbk_status_t told = faulty_fate(FAULTY_##function, error); \
    if (told != TBK_OK) return told;                                 \
  } while (0)

#endif /* TBK_FAULTY_STATE_H */
