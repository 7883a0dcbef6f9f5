/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gate.h: a library that holds one stream of a device shut, for `tbk litmus --gate` and `tbk check
 * --gate`. It is no part of tbk.h: a device that PyTorch knows needs no other file of this project.
 *
 * PyTorch's streams take no callbacks, so nothing in its interface can hold one. Whoever knows the
 * driver can: by a host function that blocks, or by a wait for a word of memory. What stands behind a
 * gate has not begun, however fast the device is; what comes out of it all the same is out of order.
 *
 * A library exports TBK_GATE_SYMBOL and nothing else of this header. It is loaded into a process that
 * has PyTorch and the device's own libraries, once, and never unloaded.
 */
#ifndef TBK_GATE_H
#define TBK_GATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TBK_GATE_VERSION 1
#define TBK_GATE_SYMBOL "tbk_gate"

/* Members are appended, never changed. Each call is made from any thread; one closing at a time. */
typedef struct tbk_gate_ops {
  size_t struct_size;
  uint32_t version; /* TBK_GATE_VERSION of the header that it was built with */
  uint32_t zero;
  const char* name; /* for people: "CUDA, cuLaunchHostFunc"; static */

  /*
   * Hold `stream` of `device`, as torch.Stream.native_handle tells it, NULL included: what is
   * enqueued there from now on does not begin before `open`. Work before it, and other streams, go
   * on. Does not wait for the device, but on one that does everything within its calls, until `open`.
   * Called again only after an `open`. Returns 0; else another number, with a line in `message`
   * unless that is NULL, and then nothing is held.
   */
  int32_t (*close)(int32_t device, void* stream, char message[256]);

  /*
   * Let the stream go on. Waits for nothing, so that it may be called while other threads are within
   * calls of the device, `close` among them: that one then ends without holding. Where nothing is
   * held it does nothing. Returns as `close` does; then the stream may be held for ever.
   */
  int32_t (*open)(char message[256]);

  /*
   * Have `function` called once, when the work before it on the stream is complete; work that is
   * enqueued from now on does not begin before it has returned. So a program learns how far a stream
   * has come. It returns at once, and calls nothing of the device. NULL, or beyond `struct_size`, as
   * in libraries that are older than this member: nothing is asked about it. Returns as `close` does.
   */
  int32_t (*call)(int32_t device, void* stream, void (*function)(void* argument), void* argument,
                  char message[256]);
} tbk_gate_t;

/*
 * The one symbol: returns the gate, which is static; NULL where it cannot serve a caller of
 * TBK_GATE_VERSION `version`. Looked up by name, and called once.
 */
typedef const tbk_gate_t* (*tbk_gate_fn)(uint32_t version);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const tbk_gate_t*
tbk_gate(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* TBK_GATE_H */
