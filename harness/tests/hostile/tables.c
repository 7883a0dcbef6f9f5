/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tables.c: the rows, and the tables that no host should be taken in by.
 */
#include <stdio.h>
#include <string.h>

#include "acts.h"
#include "hostile.h"

static tbk_status_t size_short(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.struct_size = 12;
  return TBK_OK;
}

static tbk_status_t size_zero(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.struct_size = 0;
  return TBK_OK;
}

static tbk_status_t size_huge(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.struct_size = (size_t)1 << 40;
  return TBK_OK;
}

static tbk_status_t core_short(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->core.struct_size = 24;
  return TBK_OK;
}

static tbk_status_t core_huge(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->core.struct_size = (size_t)1 << 40;
  return TBK_OK;
}

static tbk_status_t wrong_version(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.abi_version = 4711;
  return TBK_OK;
}

static tbk_status_t null_core(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.core = NULL;
  return TBK_OK;
}

static tbk_status_t null_entry(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->core.download = NULL;
  return TBK_OK;
}

static tbk_status_t null_name(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.name = NULL;
  return TBK_OK;
}

static tbk_status_t refuses(hostile_tables_t* tables, tbk_error_t* error) {
  (void)tables;
  if (error != NULL)
    snprintf(error->message, sizeof error->message, "%s", "the licence server does not answer");
  return TBK_FAILED;
}

static tbk_status_t refuses_badly(hostile_tables_t* tables, tbk_error_t* error) {
  (void)tables;
  if (error != NULL) memset(error->message, 'x', sizeof error->message); /* no NUL */
  return TBK_FAILED;
}

static tbk_status_t unknown_status(hostile_tables_t* tables, tbk_error_t* error) {
  (void)tables;
  (void)error;
  return -77;
}

static tbk_status_t count_devices(int32_t* out_count, int32_t count) {
  if (out_count == NULL) return TBK_INVALID;
  *out_count = count;
  return TBK_OK;
}

static tbk_status_t count_none(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  (void)self;
  (void)error;
  return count_devices(out_count, 0);
}

static tbk_status_t count_below_zero(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  (void)self;
  (void)error;
  return count_devices(out_count, -1);
}

static tbk_status_t no_devices(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->core.device_count = count_none;
  return TBK_OK;
}

static tbk_status_t minus_devices(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->core.device_count = count_below_zero;
  return TBK_OK;
}

#define MARKUP "<script>alert(1)</script>\x1b[2J\x1b]0;t\x07 ]]>&<\"'\xff\xfe\xc3\x28\r\n"

static tbk_status_t refuse_with_markup(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                       tbk_memory_t* out_memory, tbk_error_t* error) {
  (void)self;
  (void)device;
  (void)size_bytes;
  (void)out_memory;
  if (error != NULL) snprintf(error->message, sizeof error->message, "%s", MARKUP);
  return TBK_FAILED;
}

static tbk_status_t markup(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  tables->backend.name = MARKUP;
  tables->backend.version = MARKUP;
  tables->core.memory_alloc = refuse_with_markup;
  return TBK_OK;
}

static char megabyte[(1 << 20) + 1];

static tbk_status_t long_names(hostile_tables_t* tables, tbk_error_t* error) {
  (void)error;
  memset(megabyte, 'n', sizeof megabyte - 1);
  tables->backend.name = megabyte;
  tables->backend.version = megabyte;
  return TBK_OK;
}

#define AT(place, name, act) \
  { name, place, act, NULL }
#define TABLE(function) \
  { #function, AS_TABLE, NULL, function }

#define ROW(name) AT(AT_CALL, #name, act_##name),

const hostile_row_t hostile_rows[] = {HOSTILE_ACTS(ROW)
                                          AT(AT_CONSTRUCTOR, "crash_in_constructor", act_crash),
                                      AT(AT_CONSTRUCTOR, "hang_in_constructor", act_hang),
                                      AT(AT_CONSTRUCTOR, "exit_in_constructor", act_exit_0),
                                      AT(AT_CONSTRUCTOR, "daemonise_in_constructor", act_daemonise),
                                      AT(AT_ENTRY, "daemonise_in_entry", act_daemonise),
                                      AT(AT_ENTRY, "threads_in_entry", act_many_threads),
                                      AT(AT_ENTRY, "crash_in_entry", act_crash),
                                      AT(AT_ENTRY, "hang_in_entry", act_hang),
                                      AT(AT_ENTRY, "exit_in_entry", act_exit_0),
                                      AT(AT_OPEN, "crash_in_open", act_crash),
                                      AT(AT_OPEN, "hang_in_open", act_hang),
                                      AT(AT_ENTRY, "rule_in_entry", act_say_and_abort),
                                      AT(AT_OPEN, "rule_in_open", act_say_and_abort),
                                      AT(AT_CALL, "rule_in_call", act_say_and_abort),
                                      AT(AT_CALL, "crash_in_call", act_crash),
                                      AT(AT_CALL, "hang_in_call", act_hang),
                                      AT(AT_CALL, "spin_in_call", act_spin),
                                      AT(AT_CALL, "work_in_call", act_work),
                                      AT(AT_CALL, "rest_in_call", act_rest),
                                      AT(AT_CALL, "exit_0_in_call", act_exit_0),
                                      AT(AT_CALL, "exit_now_0_in_call", act_exit_now_0),
                                      AT(AT_CALL, "abort_in_call", act_abort),
                                      AT(AT_CALL, "overflow_stack", act_overflow_stack),
                                      AT(AT_CALL, "close_descriptors", act_close_descriptors),
                                      AT(AT_CALL, "block_signals", act_block_signals),
                                      AT(AT_CALL, "stop_itself", act_stop),
                                      AT(AT_CALL, "daemonise", act_daemonise),
                                      AT(AT_CALL, "eat_memory", act_eat_memory),
                                      AT(AT_CALL, "scribble", act_scribble),
                                      AT(AT_CALL, "print_megabytes", act_print),
                                      AT(AT_CALL, "kill_parent", act_kill_parent),
                                      AT(AT_CALL, "kill_group", act_kill_group),
                                      AT(AT_CALL, "crash_in_thread", act_crash_in_thread),
                                      AT(AT_CLOSE, "crash_in_close", act_crash),
                                      AT(AT_CLOSE, "hang_in_close", act_hang),
                                      AT(AT_EXIT, "crash_at_exit", act_crash),
                                      AT(AT_EXIT, "hang_at_exit", act_hang),
                                      AT(AT_EXIT, "exit_now_0_at_exit", act_exit_now_0),
                                      AT(AT_DESTRUCTOR, "crash_in_destructor", act_crash),
                                      AT(AT_DESTRUCTOR, "hang_in_destructor", act_hang),
                                      TABLE(size_short),
                                      TABLE(size_zero),
                                      TABLE(size_huge),
                                      TABLE(core_short),
                                      TABLE(core_huge),
                                      TABLE(wrong_version),
                                      TABLE(null_core),
                                      TABLE(null_entry),
                                      TABLE(null_name),
                                      TABLE(refuses),
                                      TABLE(refuses_badly),
                                      TABLE(unknown_status),
                                      TABLE(no_devices),
                                      TABLE(minus_devices),
                                      TABLE(markup),
                                      TABLE(long_names),
                                      {NULL, AS_TABLE, NULL, NULL}};

const hostile_row_t* hostile_find(const char* name) {
  const hostile_row_t* row = hostile_rows;
  while (row->name != NULL && (name == NULL || strcmp(row->name, name) != 0))
    ++row;
  return row->name == NULL ? NULL : row;
}
