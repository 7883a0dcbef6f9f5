/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event_record.h: tests of the suite "event" on the point that a record stands for; event_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_EVENT_RECORD_H
#define TBK_CONTRACTS_EVENT_RECORD_H

#include "fixture.h"

void record_covers_every_kind_of_work(tbk_fixture_t* fx);
void record_covers_large_work(tbk_fixture_t* fx);
void record_covers_work_on_second_device(tbk_fixture_t* fx);
void event_completes_without_later_work(tbk_fixture_t* fx);
void recorded_again_it_is_pending_again(tbk_fixture_t* fx);
void recorded_again_it_leaves_the_old_point(tbk_fixture_t* fx);
void query_goes_by_the_latest_of_many_records(tbk_fixture_t* fx);
void synchronize_goes_by_the_latest_of_many_records(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_EVENT_RECORD_H */
