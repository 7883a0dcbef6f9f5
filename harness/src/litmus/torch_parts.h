/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * torch_parts.h: what torch_server.c and torch_client.c share.
 */
#ifndef TBK_HARNESS_LITMUS_TORCH_PARTS_H
#define TBK_HARNESS_LITMUS_TORCH_PARTS_H

#include "hunt.h"
#include "torch_wire.h"

/* The memory that is shared with all children. */
void* torch_memory(void);
/* Asks the server for a child that works on the socket `job`. */
bool torch_ask(int job);
/* Waits for the server's next word and notes it; false: none came, or the server is gone. */
bool torch_hear(hunt_shared_t* shared, int wait_ms, wire_word_t* out_word);

#endif /* TBK_HARNESS_LITMUS_TORCH_PARTS_H */
