/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk.h: what a library must offer to be a PyTorch accelerator backend.
 *
 * A backend is a shared library with one exported symbol, tbk_backend_create. It returns a table,
 * and everything else is reached through that table. Ten functions are mandatory (struct tbk_core);
 * the rest stands in optional tables. What a backend lacks is a NULL table or a NULL entry: there
 * are no flags for it, so nothing can disagree with itself.
 *
 * How to read it
 *   Each table has a part of its own; <tbk/backend.h> lists them. Each
 *   function states Requires, Ensures, Ordering, Threads, Ownership, Errors, On error and Since.
 *   A line ends in the id of its clause; the clause's level, source and tests are in
 *   contracts/spec. "none" means that there is nothing to say, not that nobody thought about it.
 *   A Requires line says what happens to who breaks it: (checked) means that the backend answers
 *   with the named status and does nothing; (undefined) means that no test may rely on anything.
 *
 * Nothing implicit crosses this interface
 *   There is no current device, no current stream and no thread-local state. Each call names its
 *   instance, its device and its stream. What PyTorch calls "current" is kept by the host.
 *
 * Devices
 *   A device is an index, 0 to count - 1. Nothing starts before device_open, which may take
 *   seconds; a process may fork until then. A forked child never uses a device that its parent
 *   opened: the host sees to that.
 *
 * Memory
 *   A location is a handle and a byte offset. Adding to the handle is legal only where the device
 *   declares TBK_DEVICE_FLAT_ADDRESS; then handle + n, offset 0 and handle, offset n are the same
 *   location. The handle 0 is no memory. Layouts that a vendor tiles inside its own library stay
 *   there: what crosses this interface is bytes and strides. A kernel gets the offset of a tensor's
 *   first element beside its memory, so that the memory is aligned whatever the tensor is a view of.
 *
 * The least
 *   A host may rely on 8 streams, 8 events and 32 allocations of 64 KiB of a device at a time, and
 *   on 4 MiB in one, where it has them; of pinned memory on 64 blocks and on 16 MiB in all. Whatever more
 *   it needs it reads from the properties: memory, the largest allocation, granularity, dtypes, ranks.
 *   Kernels may refuse whatever no clause names.
 *
 * Streams
 *   A stream is a queue in order. A call that takes a stream and gets NULL is complete when it
 *   returns and is ordered after nothing else. With a stream it enqueues: it runs after all
 *   that was enqueued on that stream before, and before all that comes later. Whether the call
 *   returns at once is the backend's choice: a device that executes everything at once is legal.
 *   So is one that begins nothing until it is asked: stream_query and event_query, again and again,
 *   and whatever waits, bring about what they name and all that it waits for, on other streams too.
 *
 * Errors
 *   A call returns a status and may write a message into a caller-owned buffer. An error of
 *   enqueued work appears at the latest when its stream or device is synchronised; it may appear
 *   earlier, and repeatedly. TBK_DEVICE_LOST is final for that device until the process ends.
 *
 * Growth
 *   Tables and structs that may grow begin with struct_size, set by the side that owns the memory.
 *   The other side reads or writes min(struct_size, sizeof its own) bytes. Members are appended,
 *   never moved, and no struct has padding at its tail. TBK_HAS tests for a member.
 *
 * Libraries are never unloaded.
 */
#ifndef TBK_TBK_H
#define TBK_TBK_H

#include <tbk/backend.h> /* and with it the tables */

#endif /* TBK_TBK_H */
