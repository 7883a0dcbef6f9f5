/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * explain.c: who wrote the byte that is wrong, and the chain of edges that says that it must not be
 * seen any more, or not yet.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"

enum {
  NONE = -1,
  DEEP = 8,
  EXPLANATIONS = 64,
  A_COPY = 3,
  MOSTLY_FRESH = 0 /* what fresh memory mostly holds */
};

static void say(litmus_reason_t* reason, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(litmus_reason_t* reason, const char* format, ...) {
  if (reason->count == LITMUS_LINES) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason->lines[reason->count++], LITMUS_LINE, format, arguments);
  va_end(arguments);
}

static const char* words_of(const litmus_model_t* model, int node, char out[LITMUS_TEXT]) {
  int call = model->nodes[node].call;
  if (call >= 0) {
    litmus_call_text(model->program, &model->program->calls[call], out);
  } else {
    snprintf(out, LITMUS_TEXT, "%s", node == 0 ? "the beginning" : "the end, when all is complete");
  }
  return out;
}

/* The call of a node, as a picture has it. */
static int16_t call_of(const litmus_model_t* model, int node) {
  int call = model->nodes[node].call;
  if (call >= 0) return (int16_t)call;
  return (int16_t)(node == 0 ? LITMUS_BEGINNING : (int)model->program->count);
}

static void link_calls(const litmus_model_t* model, litmus_reason_t* reason, int from, int to,
                       int kind) {
  if (reason->link_count == LITMUS_LINKS) return;
  reason->links[reason->link_count++] =
      (litmus_link_t){call_of(model, from), call_of(model, to), (uint8_t)kind};
}

static void place_name(const litmus_model_t* model, int place, char out[16]) {
  if (place < LITMUS_SLOTS) {
    snprintf(out, 16, "%s%d", place < LITMUS_SLOTS / 2 ? "pinned" : "host", place);
  } else if (place < LITMUS_PLACE_OF_CELLS) {
    snprintf(out, 16, "mark %d", place - LITMUS_PLACE_OF_MARKS);
  } else if (model->cell_of[place] < 0) {
    snprintf(out, 16, "its source");
  } else {
    snprintf(out, 16, "m%d", model->cell_of[place]);
  }
}

/* Finds a shortest chain: out_via[n] is the edge of n that leads back towards `from`. */
static bool trace(const litmus_model_t* model, int from, int to, uint8_t out_via[LITMUS_NODES]) {
  int distance[LITMUS_NODES] = {0};
  for (int n = from; n <= to; n++) {
    const litmus_node_t* node = &model->nodes[n];
    distance[n] = n == from ? 0 : LITMUS_NODES;
    for (unsigned e = 0; n > from && e < node->edge_count; e++) {
      int source = node->edges[e].from;
      if (source < from || distance[source] + 1 >= distance[n]) continue;
      distance[n] = distance[source] + 1;
      out_via[n] = (uint8_t)e;
    }
  }
  return distance[to] < LITMUS_NODES;
}

/* The chain, a line an edge, from the earlier to the later. */
static void say_chain(const litmus_model_t* model, litmus_reason_t* reason, int from, int to) {
  uint8_t via[LITMUS_NODES];
  int chain[LITMUS_NODES], count = 0;
  char text[LITMUS_TEXT];
  if (from > to || !trace(model, from, to, via)) { /* what is read when all is complete */
    say(reason, "    %s", words_of(model, from, text));
    return;
  }
  for (int n = to; n != from; n = model->nodes[n].edges[via[n]].from)
    chain[count++] = n;
  say(reason, "    %s", words_of(model, from, text));
  for (int earlier = from; count-- > 0; earlier = chain[count]) {
    int kind = model->nodes[chain[count]].edges[via[chain[count]]].kind;
    if (kind != LITMUS_EDGE_HOST) reason->edges |= UINT64_C(1) << kind;
    link_calls(model, reason, earlier, chain[count], kind);
    const bool torch = model->program->torch;
    say(reason, "      before [%s: %s]", litmus_edge_clause(torch, kind),
        litmus_edge_text(torch, kind));
    say(reason, "    %s", words_of(model, chain[count], text));
  }
}

/* Returns whether the node writes the place, in the part where the wrong byte is. */
static bool writes(const litmus_model_t* model, int place, int node) {
  return litmus_set_has(&model->writers[place], node) && litmus_model_covers(model, node);
}

/* Returns a write that comes between `from` and `to`; NONE: there is none. */
static int between(const litmus_model_t* model, int place, int from, int to) {
  for (int w = (int)model->node_count - 1; w >= 0; w--)
    if (writes(model, place, w) && litmus_set_has(&model->nodes[to].before, w) &&
        (from == 0 || litmus_set_has(&model->nodes[w].before, from)))
      return w;
  return NONE;
}

/* Which explanation is asked for: what memory that nobody wrote may hold is one of the last resort. */
typedef struct question {
  uint8_t value;
  bool fresh;
  unsigned skipped;   /* so many others come first */
  litmus_set_t moved; /* copies by which the value came: by each once */
  int copies;         /* so many they are, that which wrote it among them */
} question_t;

static bool is_skipped(question_t* question) {
  if (question->skipped == 0) return false;
  question->skipped--;
  return true;
}

/* Says why `node`, which looks at `place`, must not see what `writer` wrote; 0: the beginning. */
static bool say_why(const litmus_model_t* model, litmus_reason_t* reason, int node, int place,
                    int writer, question_t* question) {
  char text[LITMUS_TEXT];
  const bool comes_after = writer != 0 && litmus_set_has(&model->nodes[writer].before, node);
  const int over = between(model, place, writer, node);
  if ((!comes_after && over == NONE) || is_skipped(question)) return false;
  reason->wrote = call_of(model, writer);
  question->copies += model->nodes[writer].copies;
  if (comes_after) {
    say(reason, "it is what %s writes, which comes after the read:", words_of(model, writer, text));
    say_chain(model, reason, node, writer);
    return true;
  }
  say(reason, "it %s what %s left, and this writes over it, before the read:",
      model->nodes[writer].any ? "may be" : "is", words_of(model, writer, text));
  if (writer != 0 && !model->nodes[writer].any) say_chain(model, reason, writer, over);
  say_chain(model, reason, over, node);
  reason->over = call_of(model, over);
  if (writer == 0 && place >= LITMUS_PLACE_OF_CELLS && !model->program->torch)
    reason->names_beginning = true;
  return true;
}

/* Memory that is allocated by a call, or that the model put between two, has none. */
static bool has_beginning(int place) {
  return place < LITMUS_PLACE_OF_CELLS + LITMUS_CELLS - 2;
}

/* Of writes that are no copies, and of the beginning. */
static bool explain_by_value(const litmus_model_t* model, litmus_reason_t* reason, int node,
                             int place, question_t* question) {
  for (int w = 1; w < (int)model->node_count; w++) {
    const litmus_node_t* writer = &model->nodes[w];
    if (w == node || !writes(model, place, w) || writer->copies) continue;
    if (writer->any ? !question->fresh && question->value != MOSTLY_FRESH
                    : question->fresh || writer->value != question->value)
      continue;
    if (say_why(model, reason, node, place, w, question)) return true;
  }
  return !question->fresh && has_beginning(place) && model->first[place] == question->value &&
         say_why(model, reason, node, place, 0, question);
}

static bool explain(const litmus_model_t* model, litmus_reason_t* reason, int node, int place,
                    question_t* question);

/* The value came by a copy, which saw what it must not. */
static bool explain_copy(const litmus_model_t* model, litmus_reason_t* reason, int copy,
                         question_t* question) {
  char text[LITMUS_TEXT], name[16];
  const uint32_t before = reason->count;
  const litmus_set_t moved = question->moved;
  if (question->copies == DEEP || litmus_set_has(&moved, copy)) return false;
  place_name(model, model->nodes[copy].reads, name);
  say(reason, "it came by %s, which reads %s:", words_of(model, copy, text), name);
  question->moved.bits[copy / 64] |= UINT64_C(1) << copy % 64;
  question->copies++;
  if (explain(model, reason, copy, model->nodes[copy].reads, question)) {
    if (reason->moved_count < LITMUS_LINKS)
      reason->moved[reason->moved_count++] = call_of(model, copy);
    return true;
  }
  question->moved = moved;
  question->copies--;
  reason->count = before;
  return false;
}

static bool explain(const litmus_model_t* model, litmus_reason_t* reason, int node, int place,
                    question_t* question) {
  if (explain_by_value(model, reason, node, place, question)) return true;
  for (int w = 1; w < (int)model->node_count; w++) {
    const litmus_node_t* writer = &model->nodes[w];
    if (w == node || !writes(model, place, w) || !writer->copies) continue;
    if (explain_copy(model, reason, w, question)) return true;
    if (!question->fresh && litmus_values_have(&writer->values, question->value) &&
        say_why(model, reason, node, place, w, question))
      return true;
  }
  return false;
}

/* What the smallest program has beside an explanation speaks against it, and so does each copy by which
   the value is said to have come. */
static bool explain_best(const litmus_model_t* model, litmus_reason_t* reason,
                         const litmus_read_t* read, uint8_t value, bool fresh) {
  const litmus_reason_t before = *reason;
  bool has_one = false;
  for (int skipped = 0, most = 0; skipped < EXPLANATIONS; skipped++) {
    litmus_reason_t one = before;
    question_t question = {.value = value, .fresh = fresh, .skipped = (unsigned)skipped};
    if (!explain(model, &one, read->node, read->place, &question)) break;
    const int named = __builtin_popcountll(litmus_reason_calls(&one)) - A_COPY * question.copies;
    if (has_one && named <= most) continue;
    has_one = true;
    most = named;
    *reason = one;
  }
  return has_one;
}

static void say_read(const litmus_model_t* model, litmus_reason_t* reason,
                     const litmus_read_t* read, uint8_t value, uint64_t at) {
  char text[LITMUS_TEXT], name[16], legal[80];
  size_t used = 0;
  legal[0] = '\0';
  for (int v = 0; v < 256 && used < sizeof legal - 8; v++)
    if (litmus_values_have(&read->values, (uint8_t)v))
      used += (size_t)snprintf(legal + used, sizeof legal - used, "%s0x%02x", used ? ", " : "", v);
  place_name(model, read->place, name);
  say(reason, "%s: %s holds 0x%02x at byte %llu; legal: %s", words_of(model, read->node, text),
      name, value, (unsigned long long)at, legal);
}

static void blame(const litmus_model_t* model, litmus_reason_t* reason, litmus_edge_t kind) {
  const bool torch = model->program->torch;
  reason->edges |= UINT64_C(1) << kind;
  say(reason, "%s [%s]", litmus_edge_text(torch, kind), litmus_edge_clause(torch, kind));
}

static bool has_op(const litmus_program_t* p, unsigned op) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].op == op) return true;
  return false;
}

/* Memory that the program names and never frees is handed out once. */
static bool is_live(const litmus_model_t* model, int place) {
  const litmus_program_t* p = model->program;
  return model->cell_of[place] >= 0 && !has_op(p, LITMUS_ASYNC_FREE) &&
         !has_op(p, LITMUS_CELL_RENEW);
}

/* Blames what says that memory is not handed out twice, or too early. `other`: a place of memory that
   the same byte is in. */
static void blame_lifetime(const litmus_model_t* model, litmus_reason_t* reason, int other) {
  if (is_live(model, other)) {
    reason->clause = model->program->torch ? "MEM-503" : "SOM-002";
    return say(reason, "memory that nobody freed is handed out once [%s]", reason->clause);
  }
  blame(model, reason, LITMUS_EDGE_ASYNC_FREE);
  if (has_op(model->program, LITMUS_RECORD_STREAM)) blame(model, reason, LITMUS_EDGE_RECORD_STREAM);
}

/* A value that nothing wrote may have come in many ways: a hint accuses no clause. */
static void hint_at_lifetime(litmus_reason_t* reason) {
  say(reason, "it may be memory that was handed out too early, or a copy of other bytes");
}

/* What stands in memory before the calls was uploaded without a stream. */
static void hint_at_beginning(const litmus_model_t* model, litmus_reason_t* reason,
                              const litmus_read_t* read) {
  char name[16];
  if (model->program->torch) return;
  for (int place = LITMUS_PLACE_OF_CELLS; place < (int)model->place_count; place++) {
    if (model->is_async[place] || !litmus_values_have(&read->values, model->first[place])) continue;
    place_name(model, place, name);
    say(reason,
        "what %s holds at the beginning is uploaded before these calls, without a stream:", name);
    say(reason, "it may have come too late, or not all of it, or a copy took other bytes");
    reason->names_beginning = true;
    return;
  }
}

/* Returns what PyTorch promises of the bytes of a copy between host and device, and of a sum. */
static litmus_edge_t promise_of(const litmus_call_t* call) {
  if (call->op == LITMUS_MEET) return LITMUS_EDGE_MEET;
  if (call->op == LITMUS_DOWNLOAD) return LITMUS_EDGE_PAGEABLE_COPY;
  if (call->op == LITMUS_PINNED_UPLOAD || call->op == LITMUS_LOADED_UPLOAD)
    return LITMUS_EDGE_PINNED_SOURCE;
  return call->blocks ? LITMUS_EDGE_BLOCKING_SOURCE : LITMUS_EDGE_PAGEABLE_SOURCE;
}

/* Of PyTorch: bytes that nothing wrote there came by a copy that promises more. Where a source is read
   late, or by way of memory that others use, too, they are others' bytes; memory that was dropped, and
   a sum, may hold any. That a copy behind the end took other bytes no program shows. */
static void blame_copy(const litmus_model_t* model, litmus_reason_t* reason,
                       const litmus_read_t* read, bool is_others) {
  for (uint32_t w = 1; w < model->node_count; w++) {
    const litmus_node_t* writer = &model->nodes[w];
    if (!litmus_set_has(&read->sees, (int)w) || !writer->copies) continue;
    const litmus_call_t* call = &model->program->calls[writer->call];
    if (model->cell_of[writer->reads] >= 0 || writer->reads < LITMUS_PLACE_OF_CELLS) continue;
    const litmus_edge_t kind = promise_of(call);
    if (!is_others && kind != LITMUS_EDGE_PINNED_SOURCE && kind != LITMUS_EDGE_MEET) continue;
    reason->edges |= UINT64_C(1) << kind;
    say(reason, "of its copy: %s [%s]", litmus_edge_text(true, kind),
        litmus_edge_clause(true, kind));
  }
}

/* What other memory held at the beginning. */
static bool say_first(const litmus_model_t* model, litmus_reason_t* reason, uint8_t value) {
  char name[16];
  for (int place = 0; place < LITMUS_PLACE_OF_CELLS + LITMUS_CELLS - 2; place++) {
    const bool is_mark = place >= LITMUS_PLACE_OF_MARKS && place < LITMUS_PLACE_OF_CELLS;
    if (is_mark || model->first[place] != value) continue;
    place_name(model, place, name);
    say(reason, "it is what %s, or another part of it, held at the beginning", name);
    return true;
  }
  return false;
}

/* Returns whether a call writes the value, to other memory. */
static bool say_elsewhere(const litmus_model_t* model, litmus_reason_t* reason,
                          const litmus_read_t* read, uint8_t value) {
  char name[16], text[LITMUS_TEXT];
  for (int w = 1; w < (int)model->node_count; w++) {
    const litmus_node_t* writer = &model->nodes[w];
    if (writer->writes < 0 || writer->writes == read->place || writer->any) continue;
    if (writer->copies ? !litmus_values_have(&writer->values, value) : writer->value != value)
      continue;
    place_name(model, writer->writes, name);
    say(reason, "it is what %s writes to %s, other memory", words_of(model, w, text), name);
    reason->wrote = call_of(model, w);
    if (model->is_async[read->place] || model->is_async[writer->writes])
      blame_lifetime(model, reason, writer->writes);
    return true;
  }
  return false;
}

/* Memory that was used before holds what another program left. */
static bool is_of_programs(uint8_t value) {
  return value < LITMUS_FIRST_OF_CALLS + LITMUS_CALLS;
}

/* Returns whether it is others', where nothing in the program wrote it there. */
static bool say_foreign(const litmus_model_t* model, litmus_reason_t* reason,
                        const litmus_read_t* read, uint8_t value) {
  if (say_elsewhere(model, reason, read, value)) return true;
  const bool is_others = say_first(model, reason, value);
  if (!is_others) say(reason, "nothing in the program writes that value");
  explain_best(model, reason, read, value, true);
  if (!is_of_programs(value)) reason->edges = 0; /* it may be, and accuses nobody */
  if (model->is_async[read->place])
    hint_at_lifetime(reason);
  else
    hint_at_beginning(model, reason, read);
  return is_others;
}

void litmus_explain(litmus_model_t* model, const litmus_wrong_t* wrong,
                    litmus_reason_t* out_reason) {
  memset(out_reason, 0, sizeof *out_reason);
  litmus_model_read(model, litmus_part_of(model->program, wrong->at));
  const litmus_read_t* read = &model->reads[wrong->read];
  out_reason->read = call_of(model, read->node);
  out_reason->other = out_reason->wrote = out_reason->over = LITMUS_NOBODY;
  say_read(model, out_reason, read, wrong->value, wrong->at);
  if (wrong->other < LITMUS_READS) {
    out_reason->other = call_of(model, model->reads[wrong->other].node);
    say_read(model, out_reason, &model->reads[wrong->other], wrong->other_value, wrong->at);
    say(out_reason, "both see the same writes, and none races with either [%s]",
        model->program->torch ? "CPY-501" : "MEM-006");
    return;
  }
  if (explain_best(model, out_reason, read, wrong->value, false)) return;
  const bool is_others = say_foreign(model, out_reason, read, wrong->value);
  if (model->program->torch) blame_copy(model, out_reason, read, is_others);
}
