/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hostile.h: a backend that does something terrible at a chosen place. It is the template backend
 * in everything else, so that the other tests of a run must come out as they do on the template.
 */
#ifndef TBK_HOSTILE_H
#define TBK_HOSTILE_H

#include <tbk/tbk.h>

typedef enum hostile_place {
  AT_CONSTRUCTOR = 0, /* chosen by the environment's TBK_HOSTILE; options do not exist yet */
  AT_ENTRY,
  AT_OPEN,
  AT_CALL,  /* an upload: the option at=N says which of the process, 1 by default */
  AT_CLOSE, /* device_close */
  AT_EXIT,  /* atexit, after main */
  AT_DESTRUCTOR,
  AS_TABLE /* in what the entry hands out */
} hostile_place_t;

/* Another instance of the table, writable, to be spoilt by a row of kind AS_TABLE. */
typedef struct hostile_tables {
  tbk_backend_t backend;
  tbk_core_t core;
} hostile_tables_t;

typedef struct hostile_row {
  const char* name;
  hostile_place_t place;
  void (*act)(void);
  tbk_status_t (*spoil)(hostile_tables_t* tables, tbk_error_t* error); /* of AS_TABLE */
} hostile_row_t;

extern const hostile_row_t hostile_rows[];
const hostile_row_t* hostile_find(const char* name);

void act_crash(void);
void act_hang(void);
void act_spin(void);
void act_work(void);
void act_rest(void);
void act_exit_0(void);
void act_exit_now_0(void);
void act_abort(void);
void act_say_and_abort(void);
void act_overflow_stack(void);
void act_close_descriptors(void);
void act_block_signals(void);
void act_stop(void);
void act_daemonise(void);
void act_eat_memory(void);
void act_scribble(void);
void act_print(void);
void act_kill_parent(void);
void act_kill_group(void);
void act_crash_in_thread(void);

#endif /* TBK_HOSTILE_H */
