/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.h: a litmus program: a few dozen calls on streams, events and small pieces of memory, as
 * data. Whether it is defined, and what each read may see, is the model's to say (model.h).
 *
 * A cell is device memory. A slot is host memory of the same size. Both have the same parts, and a call
 * reads or writes all of them, or some that lie side by side. Each write that is not a copy sets every byte to a value that no other write of the program
 * has, so that each byte that is read names its write. So do the contents at the beginning: a cell's
 * is LITMUS_FIRST_OF_CELLS and its number, a slot's LITMUS_FIRST_OF_SLOTS and its number. A mark is one
 * atomic byte of the host, 0 at first, that callbacks set and look at: nobody may touch host memory
 * that work uses, but a mark may be looked at any time.
 *
 * Each call is made by one of up to three threads of the host. It begins when all calls before it in
 * the list have returned, or, where it says meanwhile, only those of its own thread: then nothing
 * orders the threads but later calls that do not say so.
 */
#ifndef TBK_LITMUS_PROGRAM_H
#define TBK_LITMUS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  LITMUS_DEVICES = 2,
  LITMUS_THREADS = 3,        /* of the host; the first one makes the program's things, and stays */
  LITMUS_STREAMS = 4,        /* the first two are device 0's; so are those of one device alone */
  LITMUS_CALLERS_STREAM = 0, /* of PyTorch: the default one, on which each thread is */
  LITMUS_EVENTS = 4,
  LITMUS_CELLS = 8,  /* the last two are allocated in the order of a stream */
  LITMUS_SLOTS = 12, /* the first half is pinned where that is offered */
  LITMUS_CALLS = 56,
  LITMUS_MARKS = 8, /* each is set once at most */
  LITMUS_TEXT = 96,
  LITMUS_PARTS = 4,
  LITMUS_FIRST_OF_CELLS = 1,
  LITMUS_FIRST_OF_SLOTS = 16,
  LITMUS_FIRST_OF_CALLS = 32
};

/* X(NAME, "text", "the same in Python"), NULL where there is no such call: %s is a stream, %e an
   event, %c a cell, %o another cell, %h a slot, %v a value, %d a device, %m a mark, %u a time, %b
   whether a copy blocks, %z a fill, %t whether an event measures time, %p the priority of a stream, %x
   the stream on which gradients meet those of %s. */
#define LITMUS_OP_MAP(X)                                                                    \
  X(FILL, "fill(%c, %v, %s)", "with %s: %c.%z")                                             \
  X(UPLOAD, "upload(%c, %h, %s)", "with %s: %c.copy_(%h%b)")                                \
  X(PINNED_UPLOAD, NULL, "with %s: %c.copy_(%h.pin_memory(), non_blocking=True)")           \
  X(LOADED_UPLOAD, NULL, "with %s: %c.copy_(batch(%h), non_blocking=True)")                 \
  X(DOWNLOAD, "download(%h, %c, %s)", "with %s: %h.copy_(%c%b)")                            \
  X(COPY, "copy(%c, %o, %s)", "with %s: %c.copy_(%o)")                                      \
  X(KERNEL_FILL, "launch_fill(%c, %v, %s)", NULL)                                           \
  X(KERNEL_COPY, "launch_copy(%c, %o, %s)", NULL)                                           \
  X(PEER_COPY, "peer_copy(%c, %o, %s)", "with s3, %s: %c.copy_(%o)")                        \
  X(CALLBACK_READ, "callback(reads %h, %s)", NULL)                                          \
  X(CALLBACK_MARK, "callback(sets mark %m to %v, %s)", "mark(%m, %v, %s)")                  \
  X(CALLBACK_LOOK, "callback(looks at mark %m, %s)", NULL)                                  \
  X(DELAY, "callback(sleeps up to %u us, %s)", "with %s: busy(%u)")                         \
  X(BACKWARD, NULL, "backward(%s, %c, %o)")                                                 \
  X(MEET, NULL, "meet(%s, %x, %c, %o)")                                                     \
  X(WAIT, "event_wait(%s, %e)", "%e.wait(%s)")                                              \
  X(ASYNC_ALLOC, "async_alloc(%c, %s)", "with %s: %c = torch.empty(n, dtype=u8, device=d)") \
  X(ASYNC_FREE, "async_free(%c, %s)", "del %c")                                             \
  X(RECORD, "event_record(%e, %s)", "%e.record(%s)")                                        \
  X(EVENT_SYNCHRONIZE, "event_synchronize(%e)", "%e.synchronize()")                         \
  X(EVENT_POLL, "event_query(%e)", "%e.query()")                                            \
  X(EVENT_SPIN, "event_query(%e) until OK", "while not %e.query(): pass")                   \
  X(STREAM_SYNCHRONIZE, "stream_synchronize(%s)", "%s.synchronize()")                       \
  X(STREAM_POLL, "stream_query(%s)", "%s.query()")                                          \
  X(STREAM_SPIN, "stream_query(%s) until OK", "while not %s.query(): pass")                 \
  X(DEVICE_SYNCHRONIZE, "device_synchronize(%d)", "torch.accelerator.synchronize(%d)")      \
  X(EVENT_RENEW, "event_destroy(%e), event_create(%e)", "%e = torch.Event(d%t)")            \
  X(STREAM_RENEW, "stream_destroy(%s), stream_create(%s)", "%s = torch.Stream(d%p)")        \
  X(HOST_WRITE, "host sets %h to %v", "%h.fill_(%v)")                                       \
  X(HOST_READ, "host reads %h", "seen = %h.clone()")                                        \
  X(HOST_LOOK, "host looks at mark %m", "seen = look(%m)")                                  \
  X(AWAIT_MARK, "host waits for mark %m, querying %s", "while not passed(%m): %s.query()")  \
  X(CELL_RENEW, "memory_free(%c), memory_alloc(%c)", NULL)                                  \
  X(THREAD_RENEW, "the thread ends, another takes its place",                               \
    "the thread ends, another takes its place")                                             \
  X(RECORD_STREAM, NULL, "%c.record_stream(%s)")                                            \
  X(EMPTY_CACHE, NULL, "torch.accelerator.empty_cache()")                                   \
  X(MISTAKE, "event_wait(%s, NULL), which is INVALID", NULL)

typedef enum litmus_op {
#define LITMUS_OP_ENUM(name, text, torch) LITMUS_##name,
  LITMUS_OP_MAP(LITMUS_OP_ENUM)
#undef LITMUS_OP_ENUM
      LITMUS_OPS
} litmus_op_t;

typedef struct litmus_call {
  uint8_t op;
  int8_t stream; /* -1: NULL */
  int8_t event;
  int8_t cell;  /* what is written; of a download what is read */
  int8_t other; /* the source of a copy */
  int8_t slot;
  int8_t device;
  uint8_t value;
  uint8_t mark;
  uint8_t id;  /* stays with the call when others are taken out */
  bool blocks; /* of a copy between host and device, in PyTorch */
  uint32_t microseconds;
  uint8_t thread; /* of the host */
  bool meanwhile;
  uint8_t first_part, parts; /* what it reads and writes; 0 parts: all */
  uint16_t more; /* so often a fill or an upload is enqueued again: that changes no contents */
} litmus_call_t;

typedef struct litmus_program {
  uint32_t count;
  uint32_t devices;            /* 1 or 2 */
  bool crosses;                /* streams may wait for events of the other device (EVT-017) */
  bool torch;                  /* its calls are PyTorch's */
  bool pinned;                 /* of PyTorch: the first half of the slots is */
  bool marks;                  /* of PyTorch: a gate tells how far a stream has come */
  uint64_t size_bytes;         /* of each cell and slot */
  uint32_t threads;            /* of the host; 0 is 1 */
  bool races;                  /* some calls say meanwhile */
  uint32_t parts;              /* of cells and slots; 0 is 1 */
  uint64_t ends[LITMUS_PARTS]; /* of all parts but the last, which ends with the cell */
  litmus_call_t calls[LITMUS_CALLS];
} litmus_program_t;

/* What a program names: a bit for each; which of its calls look at something, are host functions, or take
   another stream: a bit for each call; and how much is piled up. */
typedef struct litmus_uses {
  uint32_t streams, events, cells, slots;
  uint64_t looks, callbacks, renewals;
  uint32_t piled;
} litmus_uses_t;

/* The same counter-based mixer for all choices. */
static inline uint64_t litmus_random(uint64_t* state) {
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Device 1 has a thing of each kind. */
static inline int litmus_stream_device(const litmus_program_t* program, int stream) {
  return program->devices > 1 && stream == LITMUS_STREAMS - 1;
}
static inline int litmus_cell_device(const litmus_program_t* program, int cell) {
  return program->devices > 1 && cell == LITMUS_CELLS - 3;
}
static inline int litmus_event_device(const litmus_program_t* program, int event) {
  return program->devices > 1 && event == LITMUS_EVENTS - 1;
}
/* Returns the other stream of a MEET; both are the first device's. */
static inline int litmus_meet_stream(int stream) {
  return stream == 1 ? 2 : 1;
}
static inline bool litmus_cell_is_async(int cell) {
  return cell >= LITMUS_CELLS - 2;
}
/* Ordinary, higher and lower ones, with and without the time: that changes no order. */
int32_t litmus_stream_priority(int stream);
bool litmus_event_is_timed(int event);
/* Returns whether the call enqueues on `stream`, and takes a place in its order. */
static inline bool litmus_is_work(litmus_op_t op) {
  return op <= LITMUS_ASYNC_FREE; /* they stand first in the table */
}

/* Returns how many parts cells and slots have. */
static inline int litmus_parts(const litmus_program_t* program) {
  return program->parts > 1 ? (int)program->parts : 1;
}
/* Returns where a part begins; of the one after the last the end. */
static inline uint64_t litmus_part_at(const litmus_program_t* program, int part) {
  if (part == 0) return 0;
  return part >= litmus_parts(program) ? program->size_bytes : program->ends[part - 1];
}
/* Returns the part that a byte is in. */
int litmus_part_of(const litmus_program_t* program, uint64_t at);
/* Returns whether the call may read or write some parts alone. */
bool litmus_may_be_partial(litmus_op_t op);
/* Finds which bytes of cells and slots the call reads or writes. */
void litmus_call_range(const litmus_program_t* program, const litmus_call_t* call,
                       uint64_t* out_offset, uint64_t* out_bytes);

/* Returns whether its effect needs a value of its own. */
bool litmus_has_value(litmus_op_t op);

/* Returns whether the tables of tbk.h have such a call, or PyTorch has. */
bool litmus_has_call(bool torch, litmus_op_t op);

/* Returns whether the call names what `letter` stands for in the texts above. */
bool litmus_call_names(const litmus_program_t* program, const litmus_call_t* call, char letter);
/* Returns whether the call keeps what it sees. */
bool litmus_call_looks(const litmus_call_t* call);
litmus_uses_t litmus_program_uses(const litmus_program_t* program);

/* Writes the call as a line, without an end of line. */
void litmus_call_text(const litmus_program_t* program, const litmus_call_t* call,
                      char out[LITMUS_TEXT]);

#endif /* TBK_LITMUS_PROGRAM_H */
