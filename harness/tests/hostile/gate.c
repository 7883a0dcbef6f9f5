/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gate.c: a gate that TBK_HOSTILE_GATE breaks, in front of one that works, which
 * TBK_HOSTILE_GATE_BEHIND names; without that, in front of one that has no stream to hold.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/gate.h>
#include <unistd.h>

enum { LATE = 20 };
static const tbk_gate_t* behind;
static int closings;

static bool breaks(const char* how) {
  const char* chosen = getenv("TBK_HOSTILE_GATE");
  return chosen != NULL && !strcmp(chosen, how);
}

static int32_t refuse(char* message) {
  if (message != NULL) snprintf(message, 256, "no gate\nto%cday", 27);
  return 7;
}

static int32_t close_gate(int32_t device, void* stream, char* message) {
  const bool is_late = ++closings > LATE;
  if (breaks("dies_in_close") || (is_late && breaks("dies_later"))) abort();
  if (breaks("closes_nothing")) return 0;
  if (breaks("refuses") || (is_late && breaks("refuses_later"))) return refuse(message);
  while (is_late && breaks("hangs_later"))
    pause();
  return behind->close(device, stream, message);
}

static int32_t open_gate(char* message) {
  if (breaks("never_opens")) return 0;
  if (breaks("dies_in_open")) abort();
  const int32_t result = behind->open(message);
  return breaks("refuses_to_open") ? refuse(message) : result;
}

static int32_t close_nothing(int32_t device, void* stream, char* message) {
  (void)device, (void)stream, (void)message;
  return 0;
}

static int32_t open_nothing(char* message) {
  (void)message;
  return 0;
}

static const tbk_gate_t* load_behind(uint32_t version) {
  static const tbk_gate_t nothing = {sizeof nothing, TBK_GATE_VERSION, 0,   "nothing",
                                     close_nothing,  open_nothing,     NULL};
  const char* path = getenv("TBK_HOSTILE_GATE_BEHIND");
  if (path == NULL) return &nothing;
  tbk_gate_fn entry = NULL;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, TBK_GATE_SYMBOL) : NULL;
  memcpy(&entry, &symbol, sizeof entry);
  return entry != NULL ? entry(version) : NULL;
}

__attribute__((constructor)) static void loaded(void) {
  if (breaks("dies_when_loaded")) abort();
}

const tbk_gate_t* tbk_gate(uint32_t version) {
  static tbk_gate_t gate = {sizeof gate, TBK_GATE_VERSION, 0,   "hostile",
                            close_gate,  open_gate,        NULL};
  behind = load_behind(version);
  if (breaks("cut_short")) gate.struct_size = offsetof(tbk_gate_t, open);
  if (breaks("older")) gate.struct_size = offsetof(tbk_gate_t, call); /* that does not break it */
  return behind == NULL || breaks("serves_nobody") ? NULL : &gate;
}
