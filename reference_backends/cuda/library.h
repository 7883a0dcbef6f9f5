/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * library.h: NVIDIA's libraries, opened at run time.
 */
#ifndef TBK_CUDA_LIBRARY_H
#define TBK_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

enum { CUDA_ABOUT_BYTES = 280 };

/* Looks a function up, without a cast that ISO C does not know. */
bool cuda_look_up(void* library, const char* symbol, void* out_function, size_t size);

/* Writes "WHAT MAJOR.MINOR: FILE", where the file is the one that `library` was loaded from: the word and
 * the place behind all links. */
void cuda_about(char out[CUDA_ABOUT_BYTES], const char* what, int major, int minor, void* library);

#endif /* TBK_CUDA_LIBRARY_H */
