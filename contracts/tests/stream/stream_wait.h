/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream_wait.h: tests of the suite "stream" on asking and waiting; stream_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_STREAM_WAIT_H
#define TBK_CONTRACTS_STREAM_WAIT_H

#include "fixture.h"

void null_stream_is_refused(tbk_fixture_t* fx);
void query_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx);
void query_is_ok_only_after_large_work(tbk_fixture_t* fx);
void query_is_not_ready_while_a_stream_waits_for_an_event(tbk_fixture_t* fx);
void query_does_not_wait_for_held_work(tbk_fixture_t* fx);
void query_on_second_device_is_ok_only_after_every_kind_of_work(tbk_fixture_t* fx);
void query_on_second_device_does_not_wait_for_held_work(tbk_fixture_t* fx);
void asking_again_and_again_is_enough(tbk_fixture_t* fx);
void asking_reaches_what_the_stream_waits_for(tbk_fixture_t* fx);
void questions_do_not_wait(tbk_fixture_t* fx);
void synchronize_waits_for_every_kind_of_work(tbk_fixture_t* fx);
void synchronize_waits_for_work_behind_an_event(tbk_fixture_t* fx);
void synchronize_waits_for_large_work(tbk_fixture_t* fx);
void synchronize_waits_as_long_as_it_takes(tbk_fixture_t* fx);
void synchronize_waits_on_second_device(tbk_fixture_t* fx);
void device_synchronize_waits_for_every_kind_of_work(tbk_fixture_t* fx);
void device_synchronize_waits_for_large_work(tbk_fixture_t* fx);
void device_synchronize_waits_as_long_as_it_takes(tbk_fixture_t* fx);
void device_synchronize_waits_on_second_device(tbk_fixture_t* fx);
void device_synchronize_covers_every_stream(tbk_fixture_t* fx);
void device_synchronize_succeeds_without_work(tbk_fixture_t* fx);
void synchronize_ignores_later_work_of_other_streams(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_STREAM_WAIT_H */
