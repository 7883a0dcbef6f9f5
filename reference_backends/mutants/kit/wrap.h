/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * wrap.h: a backend that is the cpu reference but for one fault. The tables of the cpu's instance
 * are copied, the active row's patches are written into the copies, and the instance pointer stays
 * the cpu's own: what a mutant does not touch is the reference itself, without a layer between.
 */
#ifndef TBK_MUTANTS_WRAP_H
#define TBK_MUTANTS_WRAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tbk/tables.h>
#include <tbk/tbk_operators.h>

enum { WRAP_KERNELS = 64, WRAP_STREAMS = 128, WRAP_EVENTS = 256, WRAP_DEVICES = 16 };

typedef void (*generic_fn)(void);

/* A wrapped kernel; the cpu's own functions are called with `inner`. */
typedef struct kernel_copy {
  tbk_kernel_t table;
  uint64_t extra[4];
  const tbk_kernel_t* inner;
  char name[48];
  int32_t device;
} kernel_copy_t;

/* What the mutants of order remember. Slots are found by handle; `stream` NULL is a free slot. */
typedef struct stream_note {
  tbk_stream_t* stream;
  int32_t device;
  tbk_event_t* shadow; /* a point before the latest piece of marked work */
  bool shadowed;
  bool greatest; /* of the greatest priority */
  uint64_t count;
} stream_note_t;

typedef struct event_note {
  tbk_event_t* event;
  int32_t device;
  tbk_stream_t* recorded_on;
  tbk_stream_t* waiter;  /* the latest stream that was told to wait */
  bool waiter_is_gone;   /* it was destroyed */
  bool recorder_is_gone; /* likewise recorded_on */
  uint64_t records, waits, queries;
  uint64_t first_ns, latest_ns; /* when it was recorded, by the host's clock */
} event_note_t;

typedef struct wrap {
  tbk_backend_t backend;
  uint64_t backend_extra[4]; /* what a newer ABI would append; see the anti-mutant of that name */
  tbk_core_t core;
  uint64_t core_extra[4];
#define WRAP_TABLE(name, type, needs) \
  type name;                          \
  uint64_t name##_extra[4]; /* what a newer ABI would append */
  TBK_TABLE_MAP(WRAP_TABLE)
#undef WRAP_TABLE
  tbk_kernel_t launching; /* patches for wrapped kernels; NULL members are the cpu's own */

  const tbk_backend_t* inner;
  _Atomic(tbk_instance_t*) self; /* of the cpu; NULL: this wrap is free */
  struct wrap* next;
  const struct mutant* row;
  const tbk_host_t* host; /* as given by the caller of the entry */

  pthread_mutex_t lock;
  kernel_copy_t kernels[WRAP_KERNELS];
  tbk_status_t (*inner_launch_plan)(tbk_instance_t*, int32_t, const tbk_plan_t*, const void*,
                                    tbk_memory_t, uint64_t, tbk_stream_t*, tbk_error_t*);
  void (*inner_plan_destroy)(tbk_instance_t*, tbk_plan_t*);
  stream_note_t streams[WRAP_STREAMS];
  event_note_t events[WRAP_EVENTS];
  tbk_stream_t* side[WRAP_DEVICES]; /* a hidden stream per device, made on demand */

  /* For whatever the active row needs. */
  atomic_uint_fast64_t calls;
  atomic_uint_fast64_t value;
  atomic_int flag;
  atomic_uintptr_t kept;
  int opened[WRAP_DEVICES];
  struct { /* rare.c: options of its own; never 0 */
    uint64_t one_in, chance, share, many, bytes;
  } plant;
} wrap_t;

enum mutant_kind { MUTANT = 0, ANTI, CHEAT, PAIR /* of generated/pairs.h */, RARE };

enum mutant_operator {
  RETURN = 0, /* another status than due */
  VALUE,      /* another result than due */
  EXTENT,     /* too many or too few bytes, elements, objects */
  ORDER,      /* too early, too late, not at all after what it should follow */
  STATE,      /* what was, or what another object does, shows through */
  LIFETIME,   /* ends too early or never */
  ERROR,      /* the way in which a failure is told */
  COUNT,      /* how often something happens */
  THREAD,     /* depends on which thread asks */
  ABI,        /* tables, sizes, versions */
  DETERMINISM /* differs from time to time */
};

typedef struct patch {
  size_t slot; /* offset in wrap_t; 0: no patch */
  generic_fn function;
} patch_t;

typedef struct mutant {
  const char* name;
  const char* clause; /* NULL for what must fail nothing, and for cheats */
  int kind;
  int operation;
  bool narrow; /* only at the k-th call, in one size class, on the second device, after an error */
  const char* note;
  patch_t patches[17];
  const char* kernel;            /* wrapped kernels: of this operator only; NULL: of all */
  const char* options;           /* more options for the cpu backend */
  void (*install)(wrap_t* wrap); /* after the patches */
  tbk_backend_create_fn entry;   /* instead of everything above */
} mutant_t;

/* The second term is 0; it makes the compiler compare the types. */
#define PATCH(member, replacement)                                                   \
  {                                                                                  \
    offsetof(wrap_t, member) + 0 * sizeof(((wrap_t*)NULL)->member == (replacement)), \
        (generic_fn)(replacement)                                                    \
  }

enum { BROAD = 0, NARROW = 1 };

/* A row that replaces one entry and is named like the function that does it. */
#define ROW(function, clause, operation, narrow, member, note) \
  { #function, clause, MUTANT, operation, narrow, note, {PATCH(member, function) }, 0, 0, 0, 0 }
/* A row that shows far into an allocation, on a device that has the room; and one of a kernel. */
#define FAR_OF(function, clause, op, member, note)         \
  {                                                        \
#function, clause, MUTANT, VALUE, NARROW, note,        \
        {PATCH(member, function) }, op, "memory=16G", 0, 0 \
  }
#define FAR_ROW(function, clause, member, note) FAR_OF(function, clause, 0, member, note)
#define FAR_KERNEL_ROW(function, clause, op, note) \
  FAR_OF(function, clause, op, launching.launch, note)
/* A row that replaces `launch`, `prepare` ... of the kernels for one operator. */
#define KERNEL_ROW(function, clause, operation, narrow, op, member, note) \
  {                                                                       \
#function, clause, MUTANT, operation, narrow, note,                   \
        {PATCH(launching.member, function) }, op, 0, 0, 0                 \
  }
/* A row that changes tables or properties when the instance is made. */
#define INSTALL_ROW(function, clause, operation, narrow, note) \
  { #function, clause, MUTANT, operation, narrow, note, {{0, 0 } }, 0, 0, function, 0 }
#define ENTRY_ROW(function, clause, operation, narrow, note) \
  { #function, clause, MUTANT, operation, narrow, note, {{0, 0 } }, 0, 0, 0, function }
/* A row of what is odd and obeys every clause. */
#define ODD(name, note, install, ...) \
  { name, NULL, ANTI, STATE, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }
#define UNPATCHED \
  { 0, 0 }

/* The tables of all files, each ended by a row without a name; see table.c. */
extern const mutant_t* const mutant_tables[];
/* From this table on they were written without sight of the tests. */
extern const size_t mutant_first_frozen;
const mutant_t* mutant_find(const char* name, size_t length);
const char* mutant_kind_name(int kind);
const char* mutant_operator_name(int operation);

/* Returns the wrap of an instance that one of the patched entries was called with. */
wrap_t* wrap_of(tbk_instance_t* self);
#define INNER(self, table) (wrap_of(self)->inner->table)

/* Makes the instance: what the entry does when the row has none of its own. */
tbk_status_t wrap_create(const mutant_t* row, const tbk_host_t* host,
                         const tbk_backend_t** out_backend, tbk_error_t* error);
/* Returns the cpu's entry point, or NULL with the reason in `error`. */
tbk_backend_create_fn wrap_inner_entry(tbk_error_t* error);
/* Returns the row whose entry is running; for entries that several rows share. */
const mutant_t* wrap_active_row(void);
void wrap_destroy(tbk_instance_t* self);
const tbk_kernel_t* wrap_kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                     uint32_t version);

/* Returns true at every `period`-th call: 1, 2, ... counted in the process's instance. */
bool wrap_every(wrap_t* wrap, uint64_t period);
/* Writes a reason and returns `status`. */
tbk_status_t wrap_fail(tbk_error_t* error, tbk_status_t status, const char* text);
/* For statuses that a mutant does not care about. */
static inline void ignore(tbk_status_t status) {
  (void)status;
}
void wrap_sleep_ms(unsigned milliseconds);
/* Waits for the stream inside another call; a failure that shows is still the stream's to tell. */
void wrap_wait_untold(tbk_instance_t* self, tbk_stream_t* stream);

/* notes.c: what mutants of order remember of streams and events. All take the lock themselves. */
void notes_install(wrap_t* wrap);

/* Streams that remember the latest one made in `kept`, and the one before it in `value`. */
tbk_status_t notes_create_kept(tbk_instance_t* self, int32_t device, int32_t priority,
                               tbk_stream_t** out_stream, tbk_error_t* error);
void notes_destroy_unkept(tbk_instance_t* self, tbk_stream_t* stream);
stream_note_t* note_of_stream(wrap_t* wrap, tbk_stream_t* stream);
event_note_t* note_of_event(wrap_t* wrap, tbk_event_t* event);
/* Returns a hidden stream of the device that nobody else uses, with nothing on it. */
tbk_stream_t* side_stream(wrap_t* wrap, int32_t device);
/* Returns a hidden stream of the device of `stream`, ordered after all that is on it now. */
tbk_stream_t* side_after(wrap_t* wrap, tbk_stream_t* stream);
/* Notes the point reached on `stream` and then delays it, so that what follows is surely later. */
void note_point(wrap_t* wrap, tbk_stream_t* stream);

#endif /* TBK_MUTANTS_WRAP_H */
