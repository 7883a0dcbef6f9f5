/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * crash_stack.h: the functions in which a test process was when a signal killed it, as text in shared
 * memory. How the process ends does not change: it dies by the signal that it got.
 */
#ifndef TBK_HARNESS_CRASH_STACK_H
#define TBK_HARNESS_CRASH_STACK_H

#include <stddef.h>

enum { TBK_STACK_TEXT = 2048 };

/*
 * Installs handlers for the signals by which programs crash, where nobody has one: a sanitizer's stay.
 * Costs a few system calls, and nothing for tests that do not crash.
 */
void tbk_crash_stack_install(void);
/*
 * Writes what is told from now on of a crash of this process, not of its children, to `text` of
 * TBK_STACK_TEXT bytes, which is terminated and outlives the process. Frames beyond it are left out.
 */
void tbk_crash_stack_watch(char* text);

#endif /* TBK_HARNESS_CRASH_STACK_H */
