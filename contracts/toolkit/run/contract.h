/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * contract.h: the contract tests as a library. The harness runs one case per forked process, or
 * many in one; the plain binary tbk-cunit runs all in one process for gdb and valgrind. Both use
 * this. Nothing here forks, sets a deadline or writes a file: that is the harness's work.
 */
#ifndef TBK_CONTRACTS_CONTRACT_H
#define TBK_CONTRACTS_CONTRACT_H

#include "case.h"
#include "check.h"
#include "fixture.h"
#include "needs.h"
#include "trace.h"

/* Why a library is not a backend. The texts for people come with it. */
typedef enum tbk_load_result {
  TBK_LOAD_OK = 0,
  TBK_LOAD_UNREADABLE,  /* no such file, no permission, a directory */
  TBK_LOAD_NOT_LIBRARY, /* dlopen refuses it */
  TBK_LOAD_NO_SYMBOL,   /* tbk_backend_create is missing */
  TBK_LOAD_REFUSED,     /* the entry answered with an error */
  TBK_LOAD_WRONG_VERSION,
  TBK_LOAD_BAD_TABLE /* cut short, absurd size, a mandatory entry NULL */
} tbk_load_result_t;

typedef struct tbk_library {
  void* handle; /* of dlopen; never closed */
  tbk_backend_create_fn create;
  const tbk_backend_t* backend; /* NULL until tbk_library_create */
  tbk_host_t host;
  char reason[512]; /* one line: what is wrong, in words */
} tbk_library_t;

/* dlopen and dlsym. Runs the library's constructors. */
tbk_load_result_t tbk_library_open(tbk_library_t* library, const char* path, const char* options);
/* Returns what the backend last warned of in this thread, through the host's log; "" where it has not. */
const char* tbk_library_warning(void);
/* What the backend has said to be unverified in this thread: at most 32 sentences; NULL behind the last. */
const char* tbk_library_unverified(size_t index);
/* Calls the entry and validates the table, without ever reading past its struct_size. */
tbk_load_result_t tbk_library_create(tbk_library_t* library);

/* Returns a flat view of all rows, in the order in which they run. */
size_t tbk_case_count(void);
const tbk_case_t* tbk_case_at(size_t index);
const tbk_suite_t* tbk_case_suite(size_t index);

/*
 * Words that only an open device can answer ("op:", "prepare") count as held until tbk_needs_assume
 * or a case with the device open has told better.
 *
 * Takes the set that tbk_session_probe found, in this process or in another.
 */
void tbk_needs_assume(const tbk_need_set_t* held);
/* Returns the first word of `needs` that the backend does not declare, or NULL. Opens no device. */
const char* tbk_needs_missing(const tbk_backend_t* backend, const char* needs);
/* Returns the same where the fixture has the device open, so that "op:" and "prepare" can be answered. */
const char* tbk_needs_missing_open(tbk_fixture_t* fx, const char* needs);
/* Returns whether every word of `needs` is one that needs.c knows. */
bool tbk_needs_known(const char* needs);

/*
 * Tells whether, in the case that ran last and before anything failed in it, the opening of an exclusive
 * device was answered UNAVAILABLE: another process has it, or so the library says.
 */
bool tbk_device_held(void);

/* A process's session with a library: created on the first case, kept from case to case. */
typedef struct tbk_session {
  tbk_library_t library;
  tbk_gate_kind_t gate; /* as probed; TBK_GATE_UNKNOWN: the first case that needs it probes */
  uint64_t seed;        /* of the run; each case derives its own from it and its name */
  int wait_blocks;      /* as probed with the gate: the mask TBK_ENQUEUE_* of calls that wait */
  int device_open;
  int32_t device_count;   /* of the open device's instance; valid while device_open */
  uint64_t left_bytes[2]; /* of each device, by others, when it was first asked; 0: not yet */
  uint64_t pinned_bytes;  /* the most that was pinned in one block to see whether it can be */
  tbk_device_properties_t properties;
} tbk_session_t;

/* Where a case stands, for blame when the process dies: written before each phase begins. */
typedef enum tbk_phase {
  TBK_PHASE_NONE = 0,
  TBK_PHASE_LOAD,   /* dlopen, constructors */
  TBK_PHASE_CREATE, /* the entry */
  TBK_PHASE_OPEN,   /* device_open, properties */
  TBK_PHASE_BODY,
  TBK_PHASE_CLEAN, /* giving back, invariants */
  TBK_PHASE_CLOSE, /* device_close, destroy */
  TBK_PHASE_EXIT   /* destructors, atexit */
} tbk_phase_t;
const char* tbk_phase_name(tbk_phase_t phase);
/* May be set to shared memory that a supervisor reads; otherwise a private variable. */
extern volatile int32_t* tbk_phase_cell;

typedef struct tbk_case_report {
  tbk_check_totals_t totals;
  tbk_evidence_t evidence;
  unsigned gates; /* how often the program without the edge went wrong behind a gate, or a call was
                     held by one */
  char evidence_reason[192];
  char notes[384];
  const char* needs_missing;         /* found only with the device open: the body did not run */
  tbk_phase_t failed_phase;          /* TBK_PHASE_NONE if nothing failed */
  bool device_held;                  /* it failed because of tbk_device_held, and says nothing */
  bool only_should;                  /* what did not hold is no more than a recommendation */
  uint64_t duration_ns;              /* of the body */
  char calls[TBK_TRACE_DIGITS + 1];  /* as tbk_trace_text writes them */
  char states[TBK_TRACE_DIGITS + 1]; /* likewise, of each call */
} tbk_case_report_t;

/* Registers all rows with CUnit; once per process, before tbk_case_run. 0 or a CUnit error code. */
int tbk_cases_register(void);
/* Runs one case through CUnit in this process. Returns only if the process survives. */
void tbk_case_run(tbk_session_t* session, size_t index, tbk_case_report_t* out_report);
/* Closes the device and destroys the instance of the session, if there is one. */
void tbk_session_end(tbk_session_t* session);

/*
 * probe.c: opens the device, finds the gate and which calls wait (into the session), and the needs
 * that hold (into *out_held, and assumed here). False, with a reason, when it cannot be opened.
 */
bool tbk_session_probe(tbk_session_t* session, tbk_need_set_t* out_held, char* out_reason,
                       size_t reason_size);
/* probe.c: is the device still sound? Allocates, copies there and back, computes if it can. */
bool tbk_health_probe(tbk_session_t* session, char* out_reason, size_t reason_size);

/* Clauses as C sees them; generated from contracts/spec into tests/generated/clauses.c. */
typedef struct tbk_clause {
  const char* id;
  const char* area;    /* "memory" */
  const char* level;   /* must, should, may */
  const char* profile; /* core, async, memory, compute */
  const char* kind;    /* checked, undefined, untestable */
  const char* text;
  const char* source;
} tbk_clause_t;
extern const tbk_clause_t tbk_clauses[];
extern const size_t tbk_clause_count;
extern const char tbk_spec_digest[]; /* SHA-256 over the spec's sentences, hexadecimal */
const tbk_clause_t* tbk_clause_find(const char* id);

#endif /* TBK_CONTRACTS_CONTRACT_H */
