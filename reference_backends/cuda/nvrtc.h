/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nvrtc.h: kernels compiled to machine code by NVRTC, which is opened when it is first needed; and kept
 * in files. The prototypes are our own, as those in driver.h.
 */
#ifndef TBK_CUDA_NVRTC_H
#define TBK_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nvrtc_program_object* nvrtc_program;

enum { NVRTC_OK = 0, NVRTC_OUT_OF_MEMORY = 1 };
enum { NVRTC_INVALID_INPUT = 3, NVRTC_INVALID_PROGRAM = 4, NVRTC_INVALID_OPTION = 5 };
enum { NVRTC_COMPILATION = 6 };

/* X(member, symbol, parameters) */
#define CUDA_NVRTC_MAP(X)                                                                 \
  X(version, "nvrtcVersion", (int* out_major, int* out_minor))                            \
  X(create_program, "nvrtcCreateProgram",                                                 \
    (nvrtc_program * out_program, const char* source, const char* name, int header_count, \
     const char* const* headers, const char* const* include_names))                       \
  X(compile_program, "nvrtcCompileProgram",                                               \
    (nvrtc_program program, int option_count, const char* const* options))                \
  X(get_cubin_size, "nvrtcGetCUBINSize", (nvrtc_program program, size_t * out_size))      \
  X(get_cubin, "nvrtcGetCUBIN", (nvrtc_program program, char* cubin))                     \
  X(get_log_size, "nvrtcGetProgramLogSize", (nvrtc_program program, size_t * out_size))   \
  X(get_log, "nvrtcGetProgramLog", (nvrtc_program program, char* log))                    \
  X(destroy_program, "nvrtcDestroyProgram", (nvrtc_program * program))

typedef struct cuda_nvrtc {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define CUDA_NVRTC_MEMBER(member, symbol, parameters) int(*member) parameters;
  CUDA_NVRTC_MAP(CUDA_NVRTC_MEMBER)
#undef CUDA_NVRTC_MEMBER
} cuda_nvrtc_t;

/* Machine code of one kernel; the caller frees `bytes`. */
typedef struct cuda_image {
  char* bytes;
  size_t size;
} cuda_image_t;

typedef struct cuda_build {
  const char* source;          /* NULL for the kernels by hand */
  const char* options;         /* of a job of emit/job.h */
  int architecture;            /* 90 for sm_90 */
  char reason[200], log[2000]; /* written: why it failed, in a line; all that the compiler said */
  bool in_need;                /* written: for want of memory, so that the next try may go well */
  void (*look)(nvrtc_program program,
               void* closure); /* at the program while it is there, or NULL */
  void* closure;
} cuda_build_t;

/*
 * Opens NVRTC, once per process: the library that the environment names (TBK_CUDA_NVRTC) and no other,
 * else the one at `path`, if it is one, else the system's. Later calls find the same one. NULL where
 * there is none.
 */
const cuda_nvrtc_t* cuda_nvrtc(const char* path);

/* Returns the version of the one that was found and its file, for people. */
const char* cuda_nvrtc_about(void);

/* Says which libraries were tried. */
const char* cuda_nvrtc_missing(void);

/* Compiles one kernel; false with the reason. */
bool cuda_nvrtc_compile(const cuda_nvrtc_t* nvrtc, cuda_build_t* build, cuda_image_t* out_image);

/* What a file of the cache is known by: all that the machine code depends on. */
typedef struct cuda_key {
  uint64_t words[2];
} cuda_key_t;

cuda_key_t cuda_cache_key(const cuda_build_t* build, int nvrtc_major, int nvrtc_minor,
                          bool simulated);

/*
 * Reads and writes machine code in the folder that the environment names (TBK_CUDA_CACHE, where an
 * empty one means none), else in the user's folder of caches. A file that is cut short or changed is not
 * found; what cannot be written is not kept.
 */
bool cuda_cache_read(cuda_key_t key, cuda_image_t* out_image);
void cuda_cache_write(cuda_key_t key, const cuda_image_t* image);

#endif /* TBK_CUDA_NVRTC_H */
