/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reproduce.c: a finding as a C file. Around the calls stands what opens the library and makes what they
 * name; behind them what was seen is compared with what is legal.
 */
#include <inttypes.h>
#include <string.h>

#include "report.h"

static const char head[] =
    "#include <dlfcn.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include "
    "<stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n#include <unistd.h>\n\n#include <tbk/tbk.h>\n#include "
    "<tbk/tbk_operators.h>\n\n"
    "#define OK(call) \\\n"
    "  do { tbk_status_t status = (call); \\\n"
    "       if (status) { printf(\"%s answers %d: %s\\n\", #call, status, e.message); exit(1); } "
    "} while (0)\n"
    "#define TENSOR(m, at, n) \\\n"
    "  &(tbk_tensor_t){sizeof(tbk_tensor_t), m, (at) + (n), at, TBK_UINT8, 1, \\\n"
    "                  (int64_t[]){n}, (int64_t[]){1}}\n"
    "#define LAUNCH(d, name, a, s) \\\n"
    "  do { const tbk_kernel_t* k = b->kernel->kernel_find(self, d, name, 1); \\\n"
    "       OK(k->launch(self, d, k, a, s, &e)); } while (0)\n"
    "#define READY(call) while ((call) == TBK_NOT_READY) continue\n\n";

static const char helpers[] =
    "static char seen[SIZE];\nstatic _Atomic unsigned char marks[8];\n"
    "typedef struct { int mark, value, us; char* slot; size_t at, bytes; } work_t;\n"
    "static void cb_read(void* a) {\n  work_t* w = a;\n"
    "  memcpy(seen + w->at, w->slot + w->at, w->bytes);\n}\n"
    "static void cb_mark(void* a) { marks[((work_t*)a)->mark] = ((work_t*)a)->value; }\n"
    "static void cb_look(void* a) { seen[0] = marks[((work_t*)a)->mark]; }\n"
    "static void cb_sleep(void* a) { usleep(((work_t*)a)->us); }\n"
    "static char* fill_host(int v) { char* p = malloc(SIZE); memset(p, v, SIZE); return p; }\n\n"
    "static _Thread_local tbk_error_t e;\nstatic const tbk_backend_t* b;\n"
    "static tbk_instance_t* self;\nstatic const tbk_core_t* core;\n"
    "static const tbk_stream_ops_t* stream;\nstatic const tbk_event_ops_t* event;\n";

/* A call waits for those before it, or, meanwhile, for those of its own thread. */
static const char turns[] =
    "static _Atomic int done[CALLS];\nstatic void* calls(void* thread);\n"
    "static int may_begin(int number, int meanwhile) {\n"
    "  for (int i = 0; i < number && !meanwhile; i++) while (!done[i]) usleep(1);\n"
    "  return !done[number];\n}\n"
    "#define BY(t, number, meanwhile) \\\n"
    "  for (int go = *(int*)thread == t && may_begin(number, meanwhile); go; "
    "go = 0, done[number] = 1)\n"
    "typedef struct { int thread, number; pthread_t before; } successor_t;\n"
    "static void* succeed(void* a) {\n  successor_t* s = a;\n"
    "  pthread_join(s->before, NULL);\n  done[s->number] = 1;\n  return calls(&s->thread);\n}\n"
    "static void* renew(int thread, int number) {\n"
    "  successor_t* s = malloc(sizeof *s);\n  pthread_t it;\n"
    "  *s = (successor_t){thread, number, pthread_self()};\n"
    "  if (pthread_create(&it, NULL, succeed, s)) exit(2);\n  return NULL;\n}\n\n";

static const char main_head[] =
    "int main(int argc, char** argv) {\n"
    "  tbk_host_t host = {.struct_size = sizeof host, .abi_version = TBK_ABI_VERSION,\n"
    "                     .options = argc > 2 ? argv[2] : NULL};\n"
    "  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;\n"
    "  tbk_backend_create_fn create = library ? (tbk_backend_create_fn)dlsym(library, "
    "TBK_ENTRY_SYMBOL) : NULL;\n"
    "  if (!create) { printf(\"usage: %s LIB [OPTIONS]\\n\", argv[0]); return 2; }\n"
    "  OK(create(&host, &b, &e));\n  self = b->instance;\n  core = b->core;\n"
    "  stream = b->stream;\n  event = b->event;\n";

bool program_names(const litmus_program_t* p, char letter, int number) {
  for (uint32_t i = 0; i < p->count; i++) {
    const litmus_call_t* c = &p->calls[i];
    int named = letter == 's'   ? c->stream
                : letter == 'e' ? c->event
                : letter == 'c' ? c->cell
                : letter == 'o' ? c->other
                                : c->slot;
    if (named == number && litmus_call_names(p, c, letter)) return true;
  }
  return false;
}

static void write_names(FILE* f, const litmus_program_t* p) {
  fprintf(f, "static work_t work[%d];\nstatic tbk_status_t asked[%d];\n", LITMUS_CALLS,
          LITMUS_CALLS);
  for (int s = 0; s < LITMUS_STREAMS; s++)
    fprintf(f, "static tbk_stream_t* s%d;\n", s);
  for (int n = 0; n < LITMUS_EVENTS; n++)
    if (program_names(p, 'e', n)) fprintf(f, "static tbk_event_t* e%d;\n", n);
  for (int c = 0; c < LITMUS_CELLS; c++)
    if (program_names(p, 'c', c) || program_names(p, 'o', c))
      fprintf(f, "static tbk_memory_t m%d;\n", c);
  for (int h = 0; h < LITMUS_SLOTS; h++)
    if (program_names(p, 'h', h)) fprintf(f, "static char* h%d;\n", h);
  fprintf(f, "\n");
}

static void write_things(FILE* f, const litmus_program_t* p) {
  for (uint32_t d = 0; d < p->devices; d++)
    fprintf(f, "  OK(core->device_open(self, %u, &e));\n", d);
  /* All of them: a scheduler that takes its choices from a seed may look at how many there are. */
  for (int s = 0; s < LITMUS_STREAMS; s++)
    fprintf(f, "  OK(stream->stream_create(self, %d, %d, &s%d, &e));\n", litmus_stream_device(p, s),
            (int)litmus_stream_priority(s), s);
  for (int n = 0; n < LITMUS_EVENTS; n++)
    if (program_names(p, 'e', n))
      fprintf(f, "  OK(event->event_create(self, %d, %d, &e%d, &e));\n", litmus_event_device(p, n),
              (int)litmus_event_is_timed(n), n);
  for (int c = 0; c < LITMUS_CELLS; c++) {
    if (!program_names(p, 'c', c) && !program_names(p, 'o', c)) continue;
    if (litmus_cell_is_async(c)) continue;
    int d = litmus_cell_device(p, c);
    fprintf(f, "  OK(core->memory_alloc(self, %d, SIZE, &m%d, &e));\n", d, c);
    fprintf(f, "  OK(core->upload(self, %d, m%d, 0, fill_host(%d), SIZE, NULL, &e));\n", d, c,
            LITMUS_FIRST_OF_CELLS + c);
  }
  for (int h = 0; h < LITMUS_SLOTS; h++) {
    if (!program_names(p, 'h', h)) continue;
    if (h < LITMUS_SLOTS / 2)
      fprintf(f,
              "  if (b->pinned) OK(b->pinned->pinned_alloc(self, 0, SIZE, "
              "(void**)&h%d, &e));\n  if (!h%d) h%d = malloc(SIZE);\n  memset(h%d, %d, SIZE);\n",
              h, h, h, h, LITMUS_FIRST_OF_SLOTS + h);
    else
      fprintf(f, "  h%d = fill_host(%d);\n", h, LITMUS_FIRST_OF_SLOTS + h);
  }
}

/* A length and an offset, as words: most calls are about all bytes. */
static void range_words(const litmus_program_t* p, const litmus_call_t* c, char bytes[24],
                        char at[24]) {
  uint64_t offset, size;
  litmus_call_range(p, c, &offset, &size);
  snprintf(at, 24, "%" PRIu64, offset);
  if (c->parts == 0)
    snprintf(bytes, 24, "SIZE");
  else
    snprintf(bytes, 24, "%" PRIu64, size);
}

static void write_copy(FILE* f, const litmus_program_t* p, const litmus_call_t* c, const char* s) {
  const int d = litmus_cell_device(p, c->cell);
  char bytes[24], at[24];
  range_words(p, c, bytes, at);
  if (c->more > 0) fprintf(f, "for (int i = 0; i < %d; i++) ", c->more + 1);
  switch (c->op) {
    case LITMUS_FILL:
      fprintf(f, "OK(core->fill(self, %d, m%d, %s, %d, %s, %s, &e));\n", d, c->cell, at, c->value,
              bytes, s);
      break;
    case LITMUS_UPLOAD:
      fprintf(f, "OK(core->upload(self, %d, m%d, %s, h%d + %s, %s, %s, &e));\n", d, c->cell, at,
              c->slot, at, bytes, s);
      break;
    case LITMUS_DOWNLOAD:
      fprintf(f, "OK(core->download(self, %d, h%d + %s, m%d, %s, %s, %s, &e));\n", d, c->slot, at,
              c->cell, at, bytes, s);
      break;
    case LITMUS_KERNEL_FILL:
      fprintf(
          f,
          "{\n    tbk_args_fill__Scalar_t a = {sizeof a, TENSOR(m%d, %s, %s), {0, %d, %d, 0}};\n"
          "    LAUNCH(%d, \"fill_.Scalar\", &a, %s);\n  }\n",
          c->cell, at, bytes, c->value, c->value, d, s);
      break;
    case LITMUS_KERNEL_COPY:
      fprintf(
          f,
          "{\n    tbk_args_copy__t a = {sizeof a, TENSOR(m%d, %s, %s), TENSOR(m%d, %s, %s), 0};\n"
          "    LAUNCH(%d, \"copy_\", &a, %s);\n  }\n",
          c->cell, at, bytes, c->other, at, bytes, d, s);
      break;
    case LITMUS_COPY:
      fprintf(f, "OK(core->copy(self, %d, m%d, %s, m%d, %s, %s, %s, &e));\n", d, c->cell, at,
              c->other, at, bytes, s);
      break;
    default:
      fprintf(f, "OK(b->peer->peer_copy(self, %d, m%d, %s, %d, m%d, %s, %s, %s, &e));\n", d,
              c->cell, at, litmus_cell_device(p, c->other), c->other, at, bytes, s);
  }
}

static void write_callback(FILE* f, const litmus_program_t* p, const litmus_call_t* c,
                           const char* s) {
  char bytes[24], at[24];
  range_words(p, c, bytes, at);
  static const char* const functions[] = {"cb_read", "cb_mark", "cb_look", "cb_sleep"};
  fprintf(f, "work[%u] = (work_t){%d, %d, %u, ", c->id, c->mark, c->value, c->microseconds);
  if (c->op == LITMUS_CALLBACK_READ)
    fprintf(f, "h%d, %s, %s};\n", c->slot, at, bytes);
  else
    fprintf(f, "NULL};\n");
  fprintf(f, "  OK(b->callback->callback_enqueue(self, %s, %s, &work[%u], &e));\n", s,
          functions[c->op - LITMUS_CALLBACK_READ], c->id);
}

/* Those that need more than a name and a stream. */
static bool write_special(FILE* f, const litmus_program_t* p, const litmus_call_t* c) {
  const int n = c->event, s = c->stream, m = c->cell;
  char bytes[24], at[24];
  range_words(p, c, bytes, at);
  switch (c->op) {
    case LITMUS_EVENT_RENEW:
      fprintf(f,
              "event->event_destroy(self, e%d); OK(event->event_create(self, %d, %d, &e%d, &e));\n",
              n, litmus_event_device(p, n), (int)litmus_event_is_timed(n), n);
      return true;
    case LITMUS_STREAM_RENEW: /* the event is what the suite waits for in the end */
      fprintf(f,
              "tbk_event_t* left;\n  OK(event->event_create(self, %d, 0, &left, &e)); "
              "OK(event->event_record(self, left, "
              "s%d, &e));\n  ",
              litmus_stream_device(p, s), s);
      fprintf(f,
              "stream->stream_destroy(self, s%d); OK(stream->stream_create(self, %d, %d, &s%d, "
              "&e));\n",
              s, litmus_stream_device(p, s), (int)litmus_stream_priority(s), s);
      return true;
    case LITMUS_CELL_RENEW:
      fprintf(f,
              "OK(core->memory_free(self, %d, m%d, &e)); OK(core->memory_alloc(self, %d, SIZE, "
              "&m%d, &e));\n",
              litmus_cell_device(p, m), m, litmus_cell_device(p, m), m);
      return true;
    case LITMUS_HOST_WRITE:
      fprintf(f, "memset(h%d + %s, %d, %s);\n", c->slot, at, c->value, bytes);
      return true;
    case LITMUS_HOST_READ:
      fprintf(f, "memcpy(seen + %s, h%d + %s, %s);\n", at, c->slot, at, bytes);
      return true;
    case LITMUS_HOST_LOOK:
      fprintf(f, "seen[0] = marks[%d];\n", c->mark);
      return true;
    case LITMUS_AWAIT_MARK:
      fprintf(f, "while (!marks[%d]) (void)!stream->stream_query(self, s%d, &e);\n", c->mark, s);
      return true;
    default:
      return false;
  }
}

static void write_one(FILE* f, const litmus_program_t* p, const litmus_call_t* c) {
  char s[8] = "NULL";
  const int n = c->event;
  if (c->stream >= 0) snprintf(s, sizeof s, "s%d", c->stream);
  if (c->op <= LITMUS_PEER_COPY) {
    write_copy(f, p, c, s);
    return;
  }
  if (c->op <= LITMUS_DELAY) {
    write_callback(f, p, c, s);
    return;
  }
  if (write_special(f, p, c)) return;
  switch (c->op) {
    case LITMUS_WAIT:
      fprintf(f, "OK(event->event_wait(self, %s, e%d, &e));\n", s, n);
      break;
    case LITMUS_ASYNC_ALLOC:
      fprintf(f, "OK(b->async_memory->async_alloc(self, %s, SIZE, &m%d, &e));\n", s, c->cell);
      break;
    case LITMUS_ASYNC_FREE:
      fprintf(f, "OK(b->async_memory->async_free(self, %s, m%d, &e));\n", s, c->cell);
      break;
    case LITMUS_RECORD:
      fprintf(f, "OK(event->event_record(self, e%d, %s, &e));\n", n, s);
      break;
    case LITMUS_EVENT_SYNCHRONIZE:
      fprintf(f, "OK(event->event_synchronize(self, e%d, &e));\n", n);
      break;
    case LITMUS_EVENT_POLL:
      fprintf(f, "asked[%u] = event->event_query(self, e%d, &e);\n", c->id, n);
      break;
    case LITMUS_EVENT_SPIN:
      fprintf(f, "READY(event->event_query(self, e%d, &e));\n", n);
      break;
    case LITMUS_STREAM_POLL:
      fprintf(f, "asked[%u] = stream->stream_query(self, %s, &e);\n", c->id, s);
      break;
    case LITMUS_STREAM_SPIN:
      fprintf(f, "READY(stream->stream_query(self, %s, &e));\n", s);
      break;
    case LITMUS_STREAM_SYNCHRONIZE:
      fprintf(f, "OK(stream->stream_synchronize(self, %s, &e));\n", s);
      break;
    default:
      fprintf(f, "OK(stream->device_synchronize(self, %d, &e));\n", c->device);
  }
}

static void write_call(FILE* f, const litmus_program_t* p, uint32_t index) {
  const litmus_call_t* c = &p->calls[index];
  if (p->threads > 1) {
    fprintf(f, "  BY(%d, %u, %d) {\n", c->thread, index, c->meanwhile);
    if (c->op == LITMUS_THREAD_RENEW) fprintf(f, "  return renew(%d, %u);\n", c->thread, index);
  }
  const bool braces = p->threads <= 1 && c->op == LITMUS_STREAM_RENEW; /* names something */
  fprintf(f, braces ? "  {\n  " : "  ");
  if (c->op != LITMUS_THREAD_RENEW) write_one(f, p, c);
  if (braces || p->threads > 1) fprintf(f, "  }\n");
}

/* All calls stand in one function, in which each thread makes its own. */
static void write_threads(FILE* f, const litmus_program_t* p) {
  fprintf(f, "enum { CALLS = %u };\n%sstatic void* calls(void* thread) {\n", p->count, turns);
  for (uint32_t i = 0; i < p->count; i++)
    write_call(f, p, i);
  fprintf(f, "  return NULL;\n}\n\n");
}

static void start_threads(FILE* f, const litmus_program_t* p) {
  fprintf(f, "  static int numbers[] = {0, 1, 2};\n  pthread_t threads[3];\n");
  fprintf(f, "  for (int i = 1; i < %u; i++)\n", p->threads);
  fprintf(f, "    if (pthread_create(&threads[i], NULL, calls, &numbers[i])) return 2;\n");
  fprintf(f, "  calls(&numbers[0]);\n");
  fprintf(f, "  for (int i = 0; i < CALLS; i++) while (!done[i]) usleep(1);\n");
}

/* Where what was seen lies, and the bytes that are legal. */
static void write_check(FILE* f, const finding_t* finding) {
  static litmus_model_t model;
  const litmus_program_t* p = &finding->shrunk.program;
  const litmus_result_t* result = &finding->shrunk.result;
  if (result->outcome != LITMUS_WRONG || !litmus_model_build(&model, p, result->answered, 0, 0)) {
    fprintf(f, "  puts(\"it came to an end\");\n  return 0;\n}\n");
    return;
  }
  const int part = litmus_part_of(p, result->wrong.at);
  litmus_model_read(&model, part);
  const litmus_read_t* read = &model.reads[result->wrong.read];
  const int place = read->place;
  const bool is_mark = place >= LITMUS_PLACE_OF_MARKS && place < LITMUS_PLACE_OF_CELLS;
  if (read->call_id == LITMUS_END && place < LITMUS_SLOTS)
    fprintf(f, "  memcpy(seen, h%d, SIZE);\n", place);
  if (read->call_id == LITMUS_END && place >= LITMUS_PLACE_OF_CELLS)
    fprintf(f, "  OK(core->download(self, %d, seen, m%d, 0, SIZE, NULL, &e));\n",
            litmus_cell_device(p, model.cell_of[place]), model.cell_of[place]);
  for (uint32_t i = 0; i < p->count; i++)
    if (p->calls[i].op == LITMUS_EVENT_POLL || p->calls[i].op == LITMUS_STREAM_POLL)
      fprintf(f, "  if ((asked[%u] == TBK_OK) != %d) return puts(\"it went another way\"), 0;\n",
              p->calls[i].id, (int)(result->answered >> i & 1));
  fprintf(f, "  for (int i = %" PRIu64 "; i < %" PRIu64 "; i++)\n", litmus_part_at(p, part),
          is_mark ? 1 : litmus_part_at(p, part + 1));
  fprintf(f, "    switch ((unsigned char)seen[i]) {\n");
  for (int v = 0; v < 256; v++)
    if (litmus_values_have(&read->values, (uint8_t)v)) fprintf(f, "      case %d:\n", v);
  fprintf(f,
          "        break;\n      default: printf(\"byte %%d is %%d\\n\", i, (unsigned "
          "char)seen[i]); return 1;\n    }\n  puts(\"as it should be\");\n  return 0;\n}\n");
}

void reproduce(FILE* f, const hunt_subject_t* subject, const finding_t* finding) {
  const litmus_program_t* p = &finding->shrunk.program;
  fprintf(f,
          "/*\n * SPDX-FileCopyrightText: the tbk authors\n"
          " * SPDX-License-Identifier: BSD-3-Clause\n *\n"
          " * Build: cc FILE -I(the folder that holds tbk/tbk.h) -ldl\n"
          " * Run:   ./a.out LIB \"%s\"\n *\n",
          subject->options == NULL ? "" : subject->options);
  if (finding->shrunk.repeats > 1)
    fprintf(f, " * It need not show each time: some %u times.\n *\n", finding->shrunk.repeats);
  for (uint32_t i = 0; i < finding->reason.count; i++)
    fprintf(f, " * %s\n", finding->reason.lines[i]);
  fprintf(f, " */\n%senum { SIZE = %" PRIu64 " };\n%s", head, p->size_bytes, helpers);
  write_names(f, p);
  if (p->threads > 1) write_threads(f, p);
  fprintf(f, "%s", main_head);
  write_things(f, p);
  fprintf(f, "\n");
  if (p->threads > 1) start_threads(f, p);
  for (uint32_t i = 0; i < p->count && p->threads <= 1; i++)
    write_call(f, p, i);
  fprintf(f, "\n  for (int d = 0; d < %u; d++) OK(stream->device_synchronize(self, d, &e));\n",
          p->devices);
  write_check(f, finding);
}
