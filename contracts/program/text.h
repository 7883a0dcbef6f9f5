/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * text.h: words that print and parse share.
 */
#ifndef TBK_PROGRAM_TEXT_H
#define TBK_PROGRAM_TEXT_H

/* By TBK_BOUNDS_...: three of them. */
extern const char* const program_bounds_names[];

#endif /* TBK_PROGRAM_TEXT_H */
