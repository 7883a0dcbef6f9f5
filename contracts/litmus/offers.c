/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * offers.c: which operations programs for a device may have.
 */
#include "generate.h"

bool litmus_is_offered(const litmus_offers_t* offers, litmus_op_t op) {
  if (!litmus_has_call(offers->torch, op)) return false;
  switch (op) {
    case LITMUS_FILL:
      return offers->fill;
    case LITMUS_KERNEL_FILL:
    case LITMUS_KERNEL_COPY:
      return offers->kernel;
    case LITMUS_PEER_COPY:
      return offers->peer && offers->devices > 1;
    case LITMUS_DELAY:
      return (offers->callback || offers->torch) && offers->delays;
    case LITMUS_CALLBACK_READ:
    case LITMUS_CALLBACK_MARK:
    case LITMUS_CALLBACK_LOOK:
    case LITMUS_HOST_LOOK:
    case LITMUS_AWAIT_MARK:
      return offers->callback;
    case LITMUS_ASYNC_ALLOC:
    case LITMUS_ASYNC_FREE:
      return offers->async_memory;
    case LITMUS_PINNED_UPLOAD:
    case LITMUS_LOADED_UPLOAD:
      return offers->pinned;
    case LITMUS_BACKWARD:
      return offers->autograd;
    case LITMUS_MEET:
      return offers->gradients;
    case LITMUS_EMPTY_CACHE:
      return offers->cache;
    case LITMUS_THREAD_RENEW:
      return offers->threads_in > 0;
    default:
      return true;
  }
}
