/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * library.h: which library is the driver; and NVIDIA's beside it, of which there are several versions, or none.
 */
#ifndef TBK_CUDA_LIBRARY_H
#define TBK_CUDA_LIBRARY_H

#include <driver/entry.h>
#include <driver/library.h>

enum { CUDA_ABOUT_BYTES = 280, CUDA_TRIED_BYTES = 512 };

/* driver.c: "driver=PATH". */
extern driver_choice_t cuda_driver_choice;

/* Looks up what is needed of a library. Returns NULL, or why this one cannot be used. */
typedef const char* cuda_load_fn(void* library);

/*
 * Opens the first of the names, up to NULL, that can be opened and that `load` takes. Returns false where none
 * is, and writes "no WHAT: why, why".
 */
bool cuda_library_open(const char* what, const char* const* names, cuda_load_fn* load,
                       char tried[CUDA_TRIED_BYTES]);

/* Writes "WHAT MAJOR.MINOR: FILE", where the file is the one that the function lies in. */
void cuda_about(char out[CUDA_ABOUT_BYTES], const char* what, int major, int minor,
                const void* function, size_t function_size);

#endif /* TBK_CUDA_LIBRARY_H */
