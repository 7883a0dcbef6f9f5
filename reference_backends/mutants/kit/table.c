/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: all tables of mutants, and the names of what their rows say.
 */
#include "wrap.h"

extern const mutant_t mutants_library[], mutants_device[], mutants_device_open[], mutants_memory[],
    mutants_memory_view[], mutants_copy[], mutants_stream[], mutants_synchronize[], mutants_event[],
    mutants_event_time[], mutants_wait[], mutants_callback[], mutants_pinned[], mutants_peer[],
    mutants_async_memory[], mutants_kernel[], mutants_operand[], mutants_plan[], mutants_value[],
    mutants_random[], mutants_error[], mutants_fault[], mutants_thread[], mutants_fork[],
    mutants_capability[], mutants_anti[], mutants_cheat[];

const mutant_t* const mutant_tables[] = {
    mutants_library,     mutants_device,     mutants_device_open,  mutants_memory,
    mutants_memory_view, mutants_copy,       mutants_stream,       mutants_synchronize,
    mutants_event,       mutants_event_time, mutants_wait,         mutants_callback,
    mutants_pinned,      mutants_peer,       mutants_async_memory, mutants_kernel,
    mutants_operand,     mutants_plan,       mutants_value,        mutants_random,
    mutants_error,       mutants_fault,      mutants_thread,       mutants_fork,
    mutants_capability,  mutants_anti,       mutants_cheat,        NULL};

const char* mutant_kind_name(int kind) {
  static const char* const names[] = {"mutant", "anti", "cheat"};
  return names[kind];
}

const char* mutant_operator_name(int operation) {
  static const char* const names[] = {"RETURN", "VALUE",    "EXTENT",     "ORDER",
                                      "STATE",  "LIFETIME", "ERROR",      "COUNT",
                                      "THREAD", "ABI",      "DETERMINISM"};
  return names[operation];
}
