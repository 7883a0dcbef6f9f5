/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TBK_SELF_LOAD_SELF_H
#define TBK_SELF_LOAD_SELF_H

/* Loads what is no backend, each in its way. Returns the number of failures. */
unsigned load_self(const char* library_without_entry);

#endif /* TBK_SELF_LOAD_SELF_H */
