/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shim.c: the symbols of the driver, handed on word by word, and the faults by position.
 */
#include "shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))
#define SHIM_ROW(member, symbol, result, parameters) symbol,
const char* const shim_symbols[SHIM_FUNCTIONS] = {SHIM_MAP};
#undef SHIM_ROW
#define SHIM_ROW(member, symbol, result, parameters) result,
const char* const shim_results[SHIM_FUNCTIONS] = {SHIM_MAP};
#undef SHIM_ROW
#define SHIM_ROW(member, symbol, result, parameters) parameters,
const char* const shim_texts[SHIM_FUNCTIONS] = {SHIM_MAP};
#undef SHIM_ROW

/* The marker of the driver behind: whoever looks for it finds it here, too. */
SHIM_EXPORT extern const char SHIM_MARKER[];
const char SHIM_MARKER[] = "a simulated driver, behind a shim";

typedef uintptr_t word_t;
typedef shim_result_t (*word_function_t)(word_t, word_t, word_t, word_t, word_t, word_t, word_t,
                                         word_t, word_t, word_t, word_t, word_t, word_t, word_t,
                                         word_t, word_t, word_t, word_t, word_t);

typedef enum fault_kind { NONE, SKIP, SWAP, DROP, FAIL, HAND } fault_kind_t;

static struct {
  fault_kind_t kind;
  shim_index_t index;
  size_t parameter; /* of SWAP */
  uint64_t at;
  int result;       /* of FAIL */
  const char* name; /* of HAND */
  uint64_t count;   /* atomic: calls that the fault could have been at */
  int sticky;       /* atomic: what each call answers from now on */
} fault;

static word_function_t real[SHIM_FUNCTIONS];
static uint64_t calls[SHIM_FUNCTIONS]; /* atomic */

/* Returns whether the fault took place. */
SHIM_EXPORT bool tbk_shim_took_place(void);
/* Returns how often a function was called. */
SHIM_EXPORT uint64_t tbk_shim_calls(const char* symbol);

static _Noreturn void stop(const char* why, const char* what) {
  fprintf(stderr, "TBK_" SHIM_NAME "_SHIM: %s: %s\n", why, what ? what : "");
  _exit(120);
}

static void* open_behind(void) {
  char path[4096];
  Dl_info info;
  if (dladdr((const void*)SHIM_MARKER, &info) == 0) stop("cannot find itself", NULL);
  const char* slash = strrchr(info.dli_fname, '/');
  int folder = slash != NULL ? (int)(slash - info.dli_fname) + 1 : 0;
  snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, SHIM_BEHIND);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) stop("no driver behind", dlerror());
  return library;
}

static fault_kind_t kind_of(const char* word) {
  static const char* const words[] = {[SKIP] = "skip", "swap", "drop", "fail"};
  for (fault_kind_t kind = SKIP; kind <= FAIL; kind++)
    if (strcmp(word, words[kind]) == 0) return kind;
  return HAND;
}

static shim_index_t index_of(const char* symbol) {
  for (shim_index_t i = 0; i < SHIM_FUNCTIONS; i++)
    if (strcmp(shim_symbols[i], symbol) == 0) return i;
  stop("no such function", symbol);
}

static size_t parameter_of(shim_index_t index, const char* name) {
  char found[32];
  for (size_t i = 0; shim_parameter(index, i, found); i++)
    if (strcmp(found, name) == 0) return i;
  stop("no such parameter", name);
}

static void read_fault(const char* text) {
  static char buffer[256];
  snprintf(buffer, sizeof buffer, "%s", text);
  char* rest = NULL;
  const char* word = strtok_r(buffer, ":", &rest);
  if (word == NULL) return;
  fault.kind = kind_of(word);
  fault.name = word;
  if (fault.kind == HAND) return;
  char* symbol = strtok_r(NULL, ":", &rest);
  const char* at = strtok_r(NULL, ":", &rest);
  const char* result = strtok_r(NULL, ":", &rest);
  if (symbol == NULL || at == NULL) stop("no fault", text);
  char* dot = strchr(symbol, '.');
  if (dot != NULL) *dot = '\0';
  fault.index = index_of(symbol);
  fault.at = strtoull(at, NULL, 10);
  fault.result = result != NULL ? (int)strtol(result, NULL, 10) : 0;
  if (fault.kind == SWAP) fault.parameter = parameter_of(fault.index, dot ? dot + 1 : "");
}

static shim_result_t (*by_hand[SHIM_FUNCTIONS])(
    shim_call_t* call); /* what the fault does instead */

static void find_by_hand(void) {
  bool known = false;
  for (const shim_hook_t* const* table = shim_hook_tables; *table != NULL; table++)
    for (const shim_hook_t* hook = *table; hook->name != NULL; hook++) {
      if (strcmp(hook->name, fault.name) != 0) continue;
      by_hand[hook->index] = hook->act;
      known = true;
    }
  if (!known) stop("no fault", fault.name);
}

static void begin(void) {
  void* library = open_behind();
  for (shim_index_t i = 0; i < SHIM_FUNCTIONS; i++) {
    void* address = dlsym(library, shim_symbols[i]);
    if (address == NULL) stop("not in the driver behind", shim_symbols[i]);
    memcpy(&real[i], &address, sizeof real[i]);
  }
  const char* text = getenv("TBK_" SHIM_NAME "_SHIM");
  read_fault(text != NULL ? text : "");
  if (fault.kind == HAND) find_by_hand();
}

uint64_t tbk_shim_calls(const char* symbol) {
  return __atomic_load_n(&calls[index_of(symbol)], __ATOMIC_RELAXED);
}

static bool took_place; /* atomic */

bool tbk_shim_took_place(void) {
  return __atomic_load_n(&took_place, __ATOMIC_ACQUIRE);
}

/* Appends a line to the file that the variable of this suffix names; nothing where there is none. */
static void append(const char* variable, const char* line) {
  const char* path = getenv(variable);
  int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file < 0) return;
  const ssize_t size = (ssize_t)strlen(line);
  if (write(file, line, (size_t)size) != size) stop("cannot write", path);
  close(file);
}

void shim_hit(void) {
  __atomic_store_n(&took_place, true, __ATOMIC_RELEASE);
  append("TBK_" SHIM_NAME "_SHIM_HITS", "x");
}

/* Tells, once a process, that a function is called, and that one fails: whoever looks for faults by
 * position need not try the others. */
static void tell_seen(shim_index_t index, bool failed) {
  static bool seen[2][SHIM_FUNCTIONS]; /* atomic */
  char line[128];
  if (__atomic_exchange_n(&seen[failed][index], true, __ATOMIC_RELAXED)) return;
  snprintf(line, sizeof line, "%s %s\n", failed ? "failed" : "called", shim_symbols[index]);
  append("TBK_" SHIM_NAME "_SHIM_SEEN", line);
}

static bool gives_pointer(shim_index_t index) {
  return strchr(shim_results[index], '*') != NULL;
}

/* Of a code, the upper half of the word means nothing. */
shim_result_t shim_real(shim_index_t index, const uintptr_t w[SHIM_WORDS]) {
  const shim_result_t result =
      real[index](w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                  w[13], w[14], w[15], w[16], w[17], w[18]);
  return gives_pointer(index) ? result : (uint32_t)result;
}

/* Whether this is the call that the fault is at. */
static bool is_due(void) {
  uint64_t count = __atomic_add_fetch(&fault.count, 1, __ATOMIC_RELAXED);
  bool due = fault.at == 0 || count == fault.at;
  if (due) shim_hit();
  return due;
}

static shim_result_t fail(shim_index_t index) {
  if (gives_pointer(index)) return 0;
  if (shim_is_sticky(fault.result)) __atomic_store_n(&fault.sticky, fault.result, __ATOMIC_RELEASE);
  return (uint32_t)fault.result;
}

static shim_result_t act_at(shim_call_t* call) {
  uintptr_t* word = &call->words[fault.parameter];
  if (fault.kind == SWAP) {
    uintptr_t other = shim_other(call->index, fault.parameter, *word);
    if (other != *word && is_due()) *word = other;
  } else if (fault.kind != DROP && is_due()) {
    return fault.kind == FAIL ? fail(call->index) : 0;
  }
  const shim_result_t result = shim_real(call->index, call->words);
  const bool drops = fault.kind == DROP && !gives_pointer(call->index);
  return result != 0 && drops && is_due() ? 0 : result;
}

static shim_result_t act(shim_call_t* call) {
  if (by_hand[call->index] != NULL) return by_hand[call->index](call);
  if (fault.kind != NONE && fault.kind != HAND && fault.index == call->index) return act_at(call);
  return shim_real(call->index, call->words);
}

static shim_result_t hand_on(shim_call_t* call) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
  __atomic_add_fetch(&calls[call->index], 1, __ATOMIC_RELAXED);
  const int sticky = __atomic_load_n(&fault.sticky, __ATOMIC_ACQUIRE);
  if (sticky != 0 && !gives_pointer(call->index) && shim_meets_sticky(shim_symbols[call->index]))
    return (uint32_t)sticky;
  tell_seen(call->index, false);
  const shim_result_t result = act(call);
  if (result != 0 && !gives_pointer(call->index)) tell_seen(call->index, true);
  if ((result == 0) != gives_pointer(call->index)) shim_note(call, result);
  return result;
}

#define SHIM_DECLARED                                                                           \
  word_t a, word_t b, word_t c, word_t d, word_t e, word_t f, word_t g, word_t h, word_t i,     \
      word_t j, word_t k, word_t l, word_t m, word_t n, word_t o, word_t p, word_t q, word_t r, \
      word_t s
#define SHIM_ROW(member, symbol, result, parameters)                                               \
  SHIM_EXPORT shim_result_t shim_##member(SHIM_DECLARED) __asm__(symbol);                          \
  shim_result_t shim_##member(SHIM_DECLARED) {                                                     \
    shim_call_t call = {SHIM_##member, {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s}}; \
    return hand_on(&call);                                                                         \
  }
SHIM_MAP
#undef SHIM_ROW

/* What can be a fault by position, as "skip:SYMBOL" and "swap:SYMBOL.NAME", and those by hand. */
SHIM_EXPORT void tbk_shim_list(void (*take)(const char* text));
void tbk_shim_list(void (*take)(const char* text)) {
  char text[128], name[32];
  for (shim_index_t i = 0; i < SHIM_FUNCTIONS; i++) {
    snprintf(text, sizeof text, "skip:%s", shim_symbols[i]);
    take(text);
    snprintf(text, sizeof text, "drop:%s", shim_symbols[i]);
    take(text);
    for (size_t k = 0; shim_parameter(i, k, name); k++) {
      if (!shim_is_handle(i, k)) continue;
      snprintf(text, sizeof text, "swap:%s.%s", shim_symbols[i], name);
      take(text);
    }
  }
  for (const shim_hook_t* const* table = shim_hook_tables; *table != NULL; table++)
    for (const shim_hook_t* hook = *table; hook->name != NULL; hook++)
      if (hook == *table || strcmp(hook->name, hook[-1].name) != 0) take(hook->name);
}
