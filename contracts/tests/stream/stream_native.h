/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream_native.h: tests of the suite "stream" on native handles; stream_test.c has the rows.
 */
#ifndef TBK_CONTRACTS_STREAM_NATIVE_H
#define TBK_CONTRACTS_STREAM_NATIVE_H

#include "fixture.h"

void from_native_refuses_a_missing_out(tbk_fixture_t* fx);
void native_handle_refuses_null(tbk_fixture_t* fx);
void native_handle_is_the_same_each_time(tbk_fixture_t* fx);
void work_is_ordered_before_native_work(tbk_fixture_t* fx);
void native_work_is_ordered_before_work(tbk_fixture_t* fx);
void native_work_is_ordered_on_second_device(tbk_fixture_t* fx);
void callbacks_of_twins_share_one_order(tbk_fixture_t* fx);
void destroying_a_twin_leaves_the_native_queue(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_STREAM_NATIVE_H */
