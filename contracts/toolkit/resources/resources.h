/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * resources.h: what the parts of the contract library know of each other and tests do not: what a test
 * made and must give back, and what it said about itself.
 */
#ifndef TBK_CONTRACTS_RESOURCES_H
#define TBK_CONTRACTS_RESOURCES_H

#include "contract.h"
#include "gate.h"
#include "list.h"

#include <stdatomic.h>

typedef struct tbk_memory_record {
  tbk_memory_t memory;
  int32_t device;
  uint64_t guard_offset;
  uint32_t guard_bytes; /* 0: no guard */
} tbk_memory_record_t;

typedef struct tbk_host_record {
  uint8_t* block; /* guard, the caller's bytes, guard */
  size_t size_bytes;
} tbk_host_record_t;

typedef struct tbk_resources {
  tbk_list_t memory;  /* tbk_memory_record_t */
  tbk_list_t streams; /* tbk_stream_t* */
  tbk_list_t events;  /* tbk_event_t* */
  tbk_list_t host;    /* tbk_host_record_t */
  tbk_list_t threads; /* tbk_thread_t* */
  tbk_list_t gates;   /* struct tbk_gate_core* */
  tbk_session_t* session;
  _Atomic tbk_memory_t busy[2]; /* of each device, what gates give a stream to do; 0: none yet */
  atomic_uint_fast64_t random;  /* state of fx_random */
  int second_open;              /* device 1 was opened for this case */
  tbk_device_properties_t properties[2]; /* of each device, once fx_use_device has asked for them */
  bool was_closed;                       /* device 0 was open in this case, and closed */
  bool tolerant;     /* the case injects errors: invariants of the device are not asked for */
  unsigned by_gates; /* how often a gate showed an order: see tbk_case_report_t */
  tbk_evidence_t evidence;
  char evidence_reason[192];
  char notes[384];
} tbk_resources_t;

/* fixture.c: an empty resources for the next case of `session`. */
void tbk_resources_begin(tbk_fixture_t* fx, tbk_session_t* session, const tbk_case_t* row);
/* clean.c: gives everything back and checks the invariants. Leaves by no REQUIRE. */
void tbk_resources_clean(tbk_fixture_t* fx);
/* The same in the middle of a test, which goes on with the devices open. */
void tbk_resources_between(tbk_fixture_t* fx);
/* clean.c: gives memory, events and streams back. */
void tbk_resources_give_back(tbk_fixture_t* fx);

/* clean.c: gives memory back from this record on, once the devices are idle; checks its guards. */
void tbk_memory_give_back(tbk_fixture_t* fx, size_t from);

/* session.c: for the next case, tbk_device_held is false; and what it goes by. */
void tbk_device_forget_held(void);
void tbk_device_note_opening(const tbk_backend_t* backend, int32_t device, tbk_status_t status);

/* gate.c: opens every gate of the case; and frees them once nothing can enter them any more. */
void tbk_gates_open(tbk_fixture_t* fx);
void tbk_gates_free(tbk_fixture_t* fx, bool device_idle);

/* fixture.c: a guard pattern at `offset` of something. */
uint8_t tbk_guard_byte(uint64_t offset);
enum { TBK_GUARD_BYTES = 64 };

/* check.c: a failure that is not counted as a check of the test; and a longjmp out of it. */
void tbk_record_failure(tbk_here_t here, const char* expected, const char* seen_format, ...)
    __attribute__((format(printf, 3, 4)));
void tbk_leave(void);
int32_t tbk_checks_failed_phase(void);
bool tbk_checks_failed(void);

/* load.c: threads that the library's constructors and its entry started in this process. */
int tbk_library_threads_started(void);
int tbk_count_threads(void);

/*
 * child.c: makes this process the parent of what its children leave behind, so that tbk_children_left counts
 * it; before a library is loaded, where what its constructors start is asked for.
 */
void tbk_adopt_orphans(void);
/* child.c: returns how many child processes live, and go on living for a moment. Reaps those that ended. */
int tbk_children_left(void);

/* session.c: phases, the instance and the open device of a session, and the fixture's view of it. */
void tbk_set_phase(tbk_phase_t phase);
bool tbk_session_create(tbk_session_t* session);
/*
 * Opens, and asks again for a while where another process has an exclusive device, which it may have for a
 * moment only. Opening may take seconds, also within a test: it is a phase of its own, with its own deadline.
 */
tbk_status_t tbk_open_within(const tbk_core_t* core, tbk_instance_t* self, int32_t device,
                             tbk_error_t* error, uint64_t patience_ns);
/* Returns how long its last try took. */
uint64_t tbk_device_opening_ns(void);
/* The same in a process that may try again later: it asks for a moment. */
tbk_status_t tbk_device_open_timed(const tbk_backend_t* backend, int32_t device,
                                   tbk_error_t* error);
tbk_status_t tbk_session_open(tbk_session_t* session, tbk_error_t* error);
/* Returns OK where the device was not open. */
tbk_status_t tbk_session_close(tbk_session_t* session, tbk_error_t* error);
void tbk_fixture_fill(tbk_fixture_t* fx, tbk_session_t* session, unsigned flags);
void tbk_fixture_opened(tbk_fixture_t* fx, const tbk_session_t* session);

/* needs.c: asks the open device for the words that only it can answer. */
tbk_need_set_t tbk_needs_probe(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_RESOURCES_H */
