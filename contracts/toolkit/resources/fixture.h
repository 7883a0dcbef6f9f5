/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fixture.h: what a contract test stands on. The tables are NULL where the backend has none; a
 * row's `needs` makes sure that a test sees those it uses. The fx_ helpers REQUIRE success, so they
 * are for the main thread; what they make is given back when the test is over. Inputs are fresh,
 * pseudo-random and made on the host; outputs are poisoned by upload and compared on the host.
 */
#ifndef TBK_CONTRACTS_FIXTURE_H
#define TBK_CONTRACTS_FIXTURE_H

#include "case.h"
#include "check.h"

#include <tbk/tables.h>

/* What a gate can do on this device; found out once, before the first test (probe.c). */
typedef enum tbk_gate_kind {
  TBK_GATE_UNKNOWN = 0,
  TBK_GATE_NONE,        /* no callbacks, and no operation long enough: ordering is "not shown" */
  TBK_GATE_SYNCHRONOUS, /* a closed gate would block its caller: ordering "holds trivially" */
  TBK_GATE_ONE_QUEUE,   /* a closed gate holds all streams of the device */
  TBK_GATE_FULL         /* a closed gate holds its stream; other streams go on */
} tbk_gate_kind_t;

/*
 * Calls that enqueue. A device may execute any of them on the host, and so wait in the call until
 * its stream gets there (a copy to unpinned memory often does). Which do is probed with the gate.
 */
enum {
  TBK_ENQUEUE_UPLOAD = 1 << 0,
  TBK_ENQUEUE_COPY = 1 << 1,
  TBK_ENQUEUE_FILL = 1 << 2,
  TBK_ENQUEUE_RECORD = 1 << 3,
  TBK_ENQUEUE_WAIT = 1 << 4,
  TBK_ENQUEUE_CALLBACK = 1 << 5, /* a second callback behind the first */
  TBK_ENQUEUE_DOWNLOAD = 1 << 6
};

/* What a passing test amounts to. The weakest that a test states holds. */
typedef enum tbk_evidence {
  TBK_PROVEN = 0, /* the control showed that the fault would have been seen */
  TBK_TRIVIAL,    /* the device is synchronous or has one queue: the clause holds trivially */
  TBK_NOT_SHOWN   /* no gate, or the control did not show the fault: nothing was learnt */
} tbk_evidence_t;

typedef struct tbk_fixture {
  const tbk_backend_t* backend;
  tbk_instance_t* self;
  const tbk_core_t* core;
#define TBK_FIXTURE_TABLE(name, type, needs) const type* name;
  TBK_TABLE_MAP(TBK_FIXTURE_TABLE) /* fx->stream, fx->event, ... */
#undef TBK_FIXTURE_TABLE

  int32_t device; /* the device under test, 0; fx_use_device changes it */
  int32_t device_count;
  tbk_device_properties_t properties; /* of `device` */
  tbk_gate_kind_t gate;
  int wait_blocks;   /* event_wait waits on the host while its event is pending (probed) */
  unsigned blocking; /* TBK_ENQUEUE_*: calls that wait on the host behind a closed gate (probed) */
  uint64_t seed;     /* of this case */

  tbk_error_t error; /* give &fx->error to calls: failures quote it */

  tbk_backend_create_fn create;    /* the entry point, for rows with TBK_CASE_RAW */
  const tbk_host_t* host;          /* what the fixture passed, or would pass, to it */
  struct tbk_resources* resources; /* private to fixture.c: what to give back */
} tbk_fixture_t;

/*
 * Deadline of anything that must not take for ever; generous, because machines are loaded. Ten
 * seconds, unless who runs the tests sets it: a third of the deadline of a whole test.
 */
extern uint64_t tbk_patience_ns;
#define FX_PATIENCE_NS tbk_patience_ns
uint64_t fx_now_ns(void); /* monotonic */
/*
 * The clock of patience: monotonic, but for what a process has been stopped for, frozen with its container,
 * or not let run. It stands still, too, where nobody asks for it for half a second.
 */
uint64_t fx_awake_ns(void);
void fx_sleep_until(uint64_t end_ns);

/*
 * For rows with TBK_CASE_CLOSED: opens and closes fx->device, and fills fx->device_count and
 * fx->properties. What is still open at the end of the test is closed with it. What the test made
 * is given back after closing, which does nothing more.
 */
void fx_open(tbk_fixture_t* fx);
/* Opens what a test has closed; asks for a moment where another process has taken it meanwhile. */
tbk_status_t fx_reopen(tbk_fixture_t* fx, int32_t device);
void fx_close(tbk_fixture_t* fx);
/* The same after the test has closed fx->device, or destroyed the instance, itself. */
void fx_disown_device(tbk_fixture_t* fx);
void fx_disown_instance(tbk_fixture_t* fx);

/* Tells whether the device declares the dtype. */
bool fx_has_dtype(const tbk_fixture_t* fx, int32_t dtype);
/* `size_bytes` rounded up to the device's copy granularity. */
uint64_t fx_round(const tbk_fixture_t* fx, uint64_t size_bytes);

/* Returns fresh pseudo-random bytes, different at each call; freed with the test. Not NULL for size 0. */
uint8_t* fx_bytes(tbk_fixture_t* fx, size_t size_bytes);
/* Returns a host buffer of zeros; freed with the test. */
uint8_t* fx_zeros(tbk_fixture_t* fx, size_t size_bytes);
uint64_t fx_random(tbk_fixture_t* fx);

/*
 * Memory of `fx->device`, contents undefined, with a guard behind it that must be unchanged when the
 * test is over; the handle is what memory_alloc gave. And the same filled with `bytes` (NULL stream). */
tbk_memory_t fx_alloc(tbk_fixture_t* fx, uint64_t size_bytes);
tbk_memory_t fx_alloc_with(tbk_fixture_t* fx, const void* bytes, uint64_t size_bytes);
/* Host-synchronous (NULL stream) transfers at offset 0. */
void fx_upload(tbk_fixture_t* fx, tbk_memory_t memory, const void* bytes, uint64_t size_bytes);
void fx_download(tbk_fixture_t* fx, void* bytes, tbk_memory_t memory, uint64_t size_bytes);
/* REQUIREs that the memory holds `bytes`. */
#define FX_CHECK_MEMORY(fx, expected, memory, size_bytes) \
  fx_check_memory((fx), (expected), (memory), (size_bytes), TBK_HERE(#memory))
bool fx_check_memory(tbk_fixture_t* fx, const void* expected, tbk_memory_t memory,
                     uint64_t size_bytes, tbk_here_t here);
/*
 * Of memory in which `seen` was wrong, all of it from offset 0: returns the clause that is broken where
 * what had to be there came late, else NULL. For TBK_CHECKS.
 */
const char* fx_late_clause(tbk_fixture_t* fx, const void* seen, tbk_memory_t memory,
                           uint64_t size_bytes);

tbk_stream_t* fx_stream(tbk_fixture_t* fx);
tbk_event_t* fx_event(tbk_fixture_t* fx, uint32_t flags);
void fx_synchronize(tbk_fixture_t* fx, tbk_stream_t* stream);
/* Polls until the answer is not NOT_READY; false when FX_PATIENCE_NS ran out first. */
bool fx_poll_stream(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_status_t* out_status);
bool fx_poll_event(tbk_fixture_t* fx, tbk_event_t* event, tbk_status_t* out_status);

/*
 * Checks that an allocation has failed for want of memory, by the clause that demands it: a test of what a
 * failure leaves alone has nothing to look at where there was none.
 */
#define FX_CHECK_EXHAUSTED(clause, status, error) \
  fx_check_exhausted((clause), (status), (error), TBK_HERE(#status))
bool fx_check_exhausted(const char* clause, tbk_status_t status, const tbk_error_t* error,
                        tbk_here_t here);

/* Checks that a device has a name, and still the one that it had. */
#define FX_CHECK_NAME(expected, seen) \
  fx_check_name((expected), (seen), TBK_HERE("the device's name"))
bool fx_check_name(const char* expected, const char* seen, tbk_here_t here);

/* The same as a check: asked again and again, it comes to an end. */
#define FX_CHECK_STREAM_ENDS(fx, stream, out_status) \
  fx_check_stream_ends((fx), (stream), (out_status), TBK_HERE(#stream))
#define FX_CHECK_EVENT_ENDS(fx, event, out_status) \
  fx_check_event_ends((fx), (event), (out_status), TBK_HERE(#event))
bool fx_check_stream_ends(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_status_t* out_status,
                          tbk_here_t here);
bool fx_check_event_ends(tbk_fixture_t* fx, tbk_event_t* event, tbk_status_t* out_status,
                         tbk_here_t here);

/* Takes what a test made itself into the resources, so that it is given back; or out of it again. */
void fx_adopt_memory(tbk_fixture_t* fx, int32_t device, tbk_memory_t memory);
void fx_adopt_stream(tbk_fixture_t* fx, tbk_stream_t* stream);
void fx_adopt_event(tbk_fixture_t* fx, tbk_event_t* event);
void fx_disown_memory(tbk_fixture_t* fx, tbk_memory_t memory);
void fx_disown_stream(tbk_fixture_t* fx, tbk_stream_t* stream);
void fx_disown_event(tbk_fixture_t* fx, tbk_event_t* event);

/*
 * Around every test: when all is given back, device_synchronize succeeds, the guards behind device
 * and host memory are intact and every thread has ended. Rows that need "fault" are let off what
 * their injected errors touch, and their session ends with them; they should be TBK_CASE_FRESH,
 * because a lost device stays lost for the process and an error may be reported repeatedly.
 */

/* Opens device 1 and returns its index (a row says "two_devices"). Closed again with the test. */
int32_t fx_second_device(tbk_fixture_t* fx);
/* Returns what `device`, 0 or 1, declares; it need not be open. */
const tbk_device_properties_t* fx_properties(const tbk_fixture_t* fx, int32_t device);
/* Makes `device`, 0 or 1, the one of fx->device and fx->properties; opens nothing. */
void fx_use_device(tbk_fixture_t* fx, int32_t device);

/* Runs `function(argument)` on another thread. Joined by fx_join, or with the test. */
typedef struct tbk_thread tbk_thread_t;
tbk_thread_t* fx_thread(tbk_fixture_t* fx, void (*function)(void* argument), void* argument);
void fx_join(tbk_fixture_t* fx, tbk_thread_t* thread); /* REQUIREs that it ends in FX_PATIENCE_NS */
bool fx_thread_done(tbk_thread_t* thread);

/* States what a pass amounts to, with a reason; and a finding that is no failure. */
void fx_evidence(tbk_fixture_t* fx, tbk_evidence_t evidence, const char* reason);
void fx_note(tbk_fixture_t* fx, const char* text);
void fx_note_once(tbk_fixture_t* fx, const char* text);

#endif /* TBK_CONTRACTS_FIXTURE_H */
