/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * report.c: JSON lines. How sure a verdict is follows from how often a device, given a program
 * without the edge, showed that the edge was gone: as often it would have shown a fault.
 */
#include "report.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "control.h"
#include "json_write.h"
#include "text.h"
#include "version.h"

enum { LINE_BYTES = 1 << 16, FEW_POLLS = 100 };
#define MISS 1e-9 /* the chance that what is excluded would have been missed */

static char line[LINE_BYTES];

static void begin(tbk_json_t* json, const char* record) {
  tbk_json_begin(json, line, sizeof line);
  tbk_json_open(json, NULL, '{');
  tbk_json_text(json, "record", record);
}

static void end(FILE* file, tbk_json_t* json) {
  tbk_json_close(json, '}');
  tbk_json_end_line(json);
  fwrite(line, 1, json->size, file);
  fflush(file);
}

void report_header(FILE* file, const hunt_subject_t* subject) {
  tbk_json_t json;
  begin(&json, "litmus-header");
  tbk_json_text(&json, "suite", TBK_VERSION);
  tbk_json_text(&json, "library", subject->library);
  if (subject->torch) tbk_json_text(&json, "layer", "torch");
  if (subject->torch) tbk_json_text(&json, "device", subject->device);
  tbk_json_text(&json, "options", subject->options);
  if (subject->gate != NULL) tbk_json_text(&json, "gate", subject->gate);
  tbk_json_unsigned(&json, "seed", subject->seed);
  end(file, &json);
}

/* ------------------------------------------------------------------------------------- finding -- */

static const char* const outcomes[] = {"right", "wrong", "refused", "miscounted",
                                       "stuck", "crash", "hang",    "no-room"};

static void say_clause(litmus_reason_t* reason, const char* text, const char* clause) {
  if (reason->count < LITMUS_LINES)
    snprintf(reason->lines[reason->count++], LITMUS_LINE, "%s [%s]", text, clause);
}

/* What another program says of it, which differs in one thing. */
static void blame_control(finding_t* finding, litmus_edge_t kind, const char* text) {
  finding->reason.edges |= UINT64_C(1) << kind;
  say_clause(&finding->reason, text, litmus_edge_clause(finding->shrunk.program.torch, (int)kind));
}

static bool ends_thread(const litmus_program_t* program) {
  for (uint32_t i = 0; i < program->count; i++)
    if (program->calls[i].op == LITMUS_THREAD_RENEW) return true;
  return false;
}

/* Of the smallest program in which a thread ends that end is needed, and not only that there are
   several. */
static void blame_threads(finding_t* finding) {
  const bool torch = finding->shrunk.program.torch;
  if (!finding->shrunk.needs_threads) return;
  if (!ends_thread(&finding->shrunk.program))
    return blame_control(finding, LITMUS_EDGE_HAND_OVER,
                         "one thread that makes all these calls does not show it");
  finding->reason.clause = torch ? "FRK-508" : "THR-005";
  finding->reason.edges = 0; /* they hold where no thread ends */
  say_clause(&finding->reason, "it does not show where no thread ends: one takes nothing with it",
             finding->reason.clause);
}

void finding_explain(finding_t* finding) {
  static litmus_model_t model;
  const litmus_result_t* result = &finding->shrunk.result;
  litmus_reason_t* reason = &finding->reason;
  memset(reason, 0, sizeof *reason);
  if (result->outcome == LITMUS_WRONG &&
      litmus_model_build(&model, &finding->shrunk.program, result->answered, 0, 0))
    litmus_explain(&model, &result->wrong, reason);
  if (result->outcome == LITMUS_MISCOUNTED) reason->clause = "CBK-002";
  if (finding->shrunk.begins_late) {
    reason->edges = 0; /* all of them hold where what was before them is complete */
    reason->clause = NULL;
    blame_control(finding, LITMUS_EDGE_NULL_STREAM,
                  "behind a wait for all before these calls it does not show");
  }
  blame_threads(finding);
}

/* Several kinds may cite one clause. */
static bool is_cited(bool torch, uint64_t edges, int before, const char* clause) {
  for (int kind = 0; kind < before; kind++)
    if (edges >> kind & 1 && !strcmp(litmus_edge_clause(torch, kind), clause)) return true;
  return false;
}

static void write_edges(tbk_json_t* json, bool torch, uint64_t edges, const char* also) {
  tbk_json_open(json, "clauses", '[');
  for (int kind = 0; kind < LITMUS_EDGES; kind++) {
    const char* clause = litmus_edge_clause(torch, kind);
    if (edges >> kind & 1 && !is_cited(torch, edges, kind, clause))
      tbk_json_text(json, NULL, clause);
  }
  if (also != NULL) tbk_json_text(json, NULL, also);
  tbk_json_close(json, ']');
  tbk_json_open(json, "edges", '[');
  for (int kind = 0; kind < LITMUS_EDGES; kind++)
    if (edges >> kind & 1) tbk_json_text(json, NULL, litmus_edge_name(kind));
  tbk_json_close(json, ']');
}

/* Where the effect of each call takes place: in a stream, or in the host that makes the call. */
static void write_lanes(tbk_json_t* json, const litmus_program_t* program) {
  tbk_json_open(json, "lanes", '[');
  for (uint32_t i = 0; i < program->count; i++) {
    const litmus_call_t* call = &program->calls[i];
    const bool in_stream = litmus_is_work((litmus_op_t)call->op) || call->op == LITMUS_RECORD;
    char lane[24] = "host";
    if (call->thread > 0) snprintf(lane, sizeof lane, "host, thread %d", call->thread);
    if (in_stream && call->stream >= 0)
      snprintf(lane, sizeof lane, "s%d%s", call->stream,
               litmus_stream_device(program, call->stream) ? " of device 1" : "");
    tbk_json_text(json, NULL, lane);
  }
  tbk_json_close(json, ']');
}

/* What a picture needs besides the calls: the chain, who looked, and whose value was seen. */
static void write_chain(tbk_json_t* json, bool torch, const litmus_reason_t* reason) {
  tbk_json_open(json, "chain", '[');
  for (uint32_t i = 0; i < reason->link_count; i++) {
    const litmus_link_t* link = &reason->links[i];
    tbk_json_open(json, NULL, '{');
    tbk_json_signed(json, "from", link->from);
    tbk_json_signed(json, "to", link->to);
    tbk_json_text(json, "kind", litmus_edge_name(link->kind));
    tbk_json_text(json, "clause", litmus_edge_clause(torch, link->kind));
    tbk_json_text(json, "text", litmus_edge_text(torch, link->kind));
    tbk_json_close(json, '}');
  }
  tbk_json_close(json, ']');
  const struct {
    const char* name;
    int16_t call;
  } roles[] = {{"read", reason->read},
               {"other", reason->other},
               {"wrote", reason->wrote},
               {"over", reason->over}};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (roles[i].call != LITMUS_NOBODY) tbk_json_signed(json, roles[i].name, roles[i].call);
  tbk_json_open(json, "moved", '[');
  for (uint32_t i = 0; i < reason->moved_count; i++)
    tbk_json_signed(json, NULL, reason->moved[i]);
  tbk_json_close(json, ']');
}

static void write_program(tbk_json_t* json, const litmus_program_t* program) {
  char text[LITMUS_TEXT];
  tbk_json_unsigned(json, "devices", program->devices);
  tbk_json_unsigned(json, "size_bytes", program->size_bytes);
  tbk_json_open(json, "program", '[');
  for (uint32_t i = 0; i < program->count; i++) {
    litmus_call_text(program, &program->calls[i], text);
    tbk_json_text(json, NULL, text);
  }
  tbk_json_close(json, ']');
}

void report_finding(FILE* file, const hunt_subject_t* subject, const finding_t* finding) {
  tbk_json_t json;
  const shrunk_t* shrunk = &finding->shrunk;
  begin(&json, "litmus-finding");
  tbk_json_text(&json, "outcome", outcomes[shrunk->result.outcome]);
  tbk_json_signed(&json, "call", shrunk->result.call);
  if (shrunk->result.outcome == LITMUS_REFUSED)
    tbk_json_text(&json, "status", tbk_status_name(shrunk->result.status));
  tbk_json_text(&json, "message", shrunk->result.message);
  write_edges(&json, shrunk->program.torch, finding->reason.edges, finding->reason.clause);
  write_program(&json, &shrunk->program);
  write_lanes(&json, &shrunk->program);
  if (shrunk->result.outcome == LITMUS_WRONG)
    write_chain(&json, shrunk->program.torch, &finding->reason);
  tbk_json_open(&json, "reason", '[');
  for (uint32_t i = 0; i < finding->reason.count; i++)
    tbk_json_text(&json, NULL, finding->reason.lines[i]);
  tbk_json_close(&json, ']');
  tbk_json_unsigned(&json, "seed", subject->seed);
  tbk_json_unsigned(&json, "index", finding->index);
  tbk_json_bool(&json, "control", finding->is_control);
  tbk_json_unsigned(&json, "calls_before", shrunk->calls_before);
  tbk_json_unsigned(&json, "shown", shrunk->shown);
  tbk_json_unsigned(&json, "replays", shrunk->replays);
  tbk_json_unsigned(&json, "repeats", shrunk->repeats);
  tbk_json_unsigned(&json, "processes", shrunk->processes);
  tbk_json_unsigned(&json, "alone_shown", finding->alone.shown);
  tbk_json_unsigned(&json, "alone_runs", finding->alone.runs);
  end(file, &json);
}

void report_print(FILE* file, const finding_t* finding) {
  const litmus_program_t* program = &finding->shrunk.program;
  const litmus_result_t* result = &finding->shrunk.result;
  char text[LITMUS_TEXT], said[2 * sizeof result->message];
  tbk_text_for_terminal(said, sizeof said, result->message);
  fprintf(file, "found: %s%s%s\n", outcomes[result->outcome], said[0] == '\0' ? "" : ": ", said);
  for (uint32_t i = 0; i < program->count; i++) {
    litmus_call_text(program, &program->calls[i], text);
    fprintf(file, "  %s\n", text);
  }
  for (uint32_t i = 0; i < finding->reason.count; i++)
    fprintf(file, "%s\n", finding->reason.lines[i]);
}

/* --------------------------------------------------------------------------------------- edges -- */

/* What a device must have for an edge of a kind, as the header of a run calls it. */
static const char* needed_by(int kind) {
  switch (kind) {
    case LITMUS_EDGE_WAIT_DEVICE:
      return "cross_device_wait";
    case LITMUS_EDGE_CALLBACK_AFTER:
    case LITMUS_EDGE_CALLBACK_BEFORE:
    case LITMUS_EDGE_CALLBACK_HOST:
      return "callback";
    case LITMUS_EDGE_ASYNC_FREE:
      return "async_memory";
    default:
      return "event";
  }
}

static bool is_offered(const litmus_offers_t* offers, int kind) {
  if (litmus_edge_clause(offers->torch, kind) == NULL) return false;
  if (kind == LITMUS_EDGE_COPY_ACROSS) return offers->peer;
  if (kind == LITMUS_EDGE_PINNED_SOURCE) return offers->pinned;
  if (kind == LITMUS_EDGE_MEET) return offers->gradients;
  if (kind == LITMUS_EDGE_BACKWARD || kind == LITMUS_EDGE_BACKWARD_CALLER) return offers->autograd;
  const char* needed = needed_by(kind);
  if (!strcmp(needed, "cross_device_wait")) return offers->cross_device_wait;
  if (!strcmp(needed, "callback")) return offers->callback;
  return strcmp(needed, "async_memory") || offers->async_memory;
}

static void write_kind(tbk_json_t* json, bool torch, int kind) {
  tbk_json_text(json, "kind", litmus_edge_name(kind));
  tbk_json_text(json, "clause", litmus_edge_clause(torch, kind));
  tbk_json_text(json, "text", litmus_edge_text(torch, kind));
}

void report_kinds(FILE* file) {
  for (int kind = 0; kind < LITMUS_EDGES; kind++) {
    tbk_json_t json;
    if (kind == LITMUS_EDGE_HOST || litmus_edge_clause(false, kind) == NULL) continue;
    begin(&json, "litmus-kind");
    write_kind(&json, false, kind);
    tbk_json_text(&json, "needs", needed_by(kind));
    end(file, &json);
  }
}

static bool is_synchronous(const hunt_stats_t* stats) {
  return stats->polls >= FEW_POLLS && stats->polls_not_ready == 0;
}

static const char* state_of(const hunt_shared_t* shared, litmus_edge_t kind, uint64_t broken,
                            double one_in, const char** out_why) {
  const hunt_edge_t* edge = &shared->stats.edges[kind];
  *out_why = "";
  if (broken >> kind & 1) return "broken";
  if (!litmus_has_control(kind, out_why)) return "not-shown";
  if (one_in >= 1) return "proven";
  if (edge->shown > 0) {
    *out_why = "too few programs without the edge showed that it was gone";
    return "not-shown";
  }
  if (is_synchronous(&shared->stats)) {
    *out_why = "nothing was ever pending: the device does everything within its call";
    return "trivial";
  }
  *out_why = edge->controls == 0 ? "no program without the edge was run"
                                 : "programs without the edge ended as those with it";
  return "not-shown";
}

static void write_sure(tbk_json_t* json, sure_t sure) {
  tbk_json_unsigned(json, "one_in", (uint64_t)sure.one_in);
  tbk_json_unsigned(json, "share_percent", (uint64_t)ceil(100 * sure.share));
  tbk_json_unsigned(json, "share_one_in", (uint64_t)sure.share_one_in);
}

/* What each process had of a kind, tried and shown, one after the other. */
static void write_processes(tbk_json_t* json, const sure_process_t* processes, size_t count) {
  tbk_json_open(json, "of_processes", '[');
  for (size_t i = 0; i < count; i++) {
    tbk_json_unsigned(json, NULL, processes[i].tried);
    tbk_json_unsigned(json, NULL, processes[i].shown);
  }
  tbk_json_close(json, ']');
}

void report_sure(FILE* file, const sure_process_t* processes, size_t count, uint64_t programs) {
  tbk_json_t json;
  begin(&json, "litmus-sure");
  write_sure(&json, sure_of(processes, count, programs, MISS));
  end(file, &json);
}

void report_edges(FILE* file, const hunt_shared_t* shared, const processes_t* processes,
                  const finding_t* finding, bool each) {
  const hunt_stats_t* stats = &shared->stats;
  for (int kind = 0; kind < LITMUS_EDGES; kind++) {
    const hunt_edge_t* edge = &stats->edges[kind];
    const char* why;
    tbk_json_t json;
    if (kind == LITMUS_EDGE_HOST || !is_offered(&shared->offers, kind)) continue;
    const sure_t sure = sure_of(processes->edges[kind], processes->count, stats->programs, MISS);
    const char* state = state_of(shared, (litmus_edge_t)kind, finding ? finding->reason.edges : 0,
                                 sure.one_in, &why);
    begin(&json, "litmus-edge");
    write_kind(&json, shared->offers.torch, kind);
    tbk_json_text(&json, "state", state);
    tbk_json_text(&json, "why", why);
    tbk_json_unsigned(&json, "tried", edge->tried);
    tbk_json_unsigned(&json, "controls", edge->controls);
    tbk_json_unsigned(&json, "shown", edge->shown);
    write_sure(&json, sure);
    if (each) write_processes(&json, processes->edges[kind], processes->count);
    end(file, &json);
  }
}

/* Of the workers that have ended: on a machine that does other things too, time says little. */
static uint64_t cpu_milliseconds(void) {
  struct rusage used;
  if (getrusage(RUSAGE_CHILDREN, &used) != 0) return 0;
  return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
         (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

void report_coverage(FILE* file, const hunt_shared_t* shared) {
  const litmus_coverage_t* coverage = &shared->stats.coverage;
  uint64_t least = UINT64_MAX;
  tbk_json_t json;
  begin(&json, "litmus-coverage");
  tbk_json_open(&json, "programs", '{');
  for (litmus_edge_t first = 0; first < LITMUS_EDGES; first++) {
    if (!litmus_is_edge(first) || !is_offered(&shared->offers, first)) continue;
    tbk_json_open(&json, litmus_edge_name((int)first), '{');
    for (litmus_edge_t next = 0; next < LITMUS_EDGES; next++) {
      if (!litmus_is_edge(next) || !is_offered(&shared->offers, next)) continue;
      tbk_json_unsigned(&json, litmus_edge_name((int)next), coverage->programs[first][next]);
      if (coverage->programs[first][next] < least) least = coverage->programs[first][next];
    }
    tbk_json_close(&json, '}');
  }
  tbk_json_close(&json, '}');
  tbk_json_unsigned(&json, "least", least);
  end(file, &json);
}

void report_footer(FILE* file, const hunt_subject_t* subject, const hunt_shared_t* shared,
                   const processes_t* processes, double seconds, int exit_code,
                   const char* reason) {
  const hunt_stats_t* stats = &shared->stats;
  tbk_json_t json;
  begin(&json, "litmus-footer");
  tbk_json_unsigned(&json, "programs", stats->programs - stats->controls);
  tbk_json_unsigned(&json, "controls", stats->controls);
  tbk_json_unsigned(&json, "calls", stats->calls);
  tbk_json_unsigned(&json, "looks", stats->looks);
  tbk_json_unsigned(&json, "no_room", stats->no_room);
  tbk_json_unsigned(&json, "found", stats->found);
  tbk_json_unsigned(&json, "processes", processes->count);
  tbk_json_unsigned(&json, "found_in", processes->found_in);
  tbk_json_unsigned(&json, "opening_milliseconds", processes->opening_ns / 1000000);
  tbk_json_unsigned(&json, "cpu_milliseconds", cpu_milliseconds());
  tbk_json_unsigned(&json, "milliseconds", (uint64_t)(seconds * 1e3));
  if (subject->gate != NULL)
    tbk_json_text(&json, "gate", shared->gate ? "holds" : "holds its caller");
  tbk_json_signed(&json, "exit_code", exit_code);
  tbk_json_text(&json, "reason", reason);
  end(file, &json);
}
