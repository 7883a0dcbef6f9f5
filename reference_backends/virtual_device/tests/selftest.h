/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * selftest.h: the suites of the virtual device's own tests.
 */
#ifndef VDEV_SELFTEST_H
#define VDEV_SELFTEST_H

#include <CUnit/CUnit.h>

extern CU_TestInfo vdev_words_tests[];
extern CU_TestInfo vdev_arena_tests[];

#endif /* VDEV_SELFTEST_H */
