/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * compile.c: tbk-cuda-compile [--ptx FOLDER] ARCHITECTURE... compiles every kernel for each
 * (90 for sm_90), as the backend does, and writes what the compiler says. It needs no device. With a
 * folder, it also writes there what the compiler handed to its assembler, as sm_90-NUMBER.ptx. Ends with 0
 * where all are compiled without a word, with 5 where there is no NVRTC.
 */
#include <dlfcn.h>
#include <everything.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../library.h"
#include "../nvrtc.h"

typedef struct ptx {
  int (*get_size)(nvrtc_program program, size_t* out_size);
  int (*get)(nvrtc_program program, char* ptx);
  const char* folder; /* NULL: none is written */
  int architecture, number, written;
} ptx_t;

static ptx_t ptx;

static void write_ptx(nvrtc_program program, void* closure) {
  char path[4096];
  size_t size = 0;
  (void)closure;
  if (ptx.folder == NULL) return;
  snprintf(path, sizeof path, "%s/sm_%d-%d.ptx", ptx.folder, ptx.architecture, ptx.number);
  char* text = ptx.get_size(program, &size) == NVRTC_OK ? malloc(size + 1) : NULL;
  FILE* file = text != NULL && ptx.get(program, text) == NVRTC_OK ? fopen(path, "w") : NULL;
  const bool whole = file != NULL && size > 1 && fwrite(text, 1, size - 1, file) == size - 1;
  if (file != NULL && fclose(file) == 0 && whole) ptx.written++;
  free(text);
}

/* The backend has no use for it, so it is looked for here: in the library that it opened. */
static bool find_ptx(void) {
  const char* stated = getenv("TBK_CUDA_NVRTC");
  void* library = dlopen(stated ? stated : "libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  return library != NULL &&
         library_find(library, "nvrtcGetPTXSize", &ptx.get_size, sizeof ptx.get_size) &&
         library_find(library, "nvrtcGetPTX", &ptx.get, sizeof ptx.get);
}

typedef struct tally {
  const cuda_nvrtc_t* nvrtc;
  int architecture, count, faults;
} tally_t;

static void compile(tally_t* tally, const char* source, const char* options, const char* name) {
  cuda_build_t build = {
      .source = source, .options = options, .architecture = tally->architecture, .look = write_ptx};
  cuda_image_t image = {NULL, 0};
  ptx.architecture = tally->architecture;
  ptx.number = tally->count++;
  const bool compiled = cuda_nvrtc_compile(tally->nvrtc, &build, &image);
  free(compiled ? image.bytes : NULL);
  if (compiled && build.log[0] == '\0') return;
  tally->faults++;
  printf("%s: %s\n%s\n", name, compiled ? "warnings" : build.reason, build.log);
}

static void compile_program(const emit_generic_t* generic, const void* arguments,
                            const emit_launch_t* launch, void* closure) {
  char* source = emit_generic_source(generic, arguments, launch, emit_cuda_prelude);
  compile(closure, source, "", launch->name);
  free(source);
}

/* Compiles the kernels by hand and those of programs; counts those that failed or made the compiler say
 * something. */
static void compile_all(tally_t* tally) {
  for (const char* const* variant = emit_variants; *variant != NULL; variant++)
    compile(tally, NULL, *variant, *variant);
  if (everything(compile_program, tally) == 0) tally->faults++;
}

int main(int argc, char** argv) {
  const cuda_nvrtc_t* nvrtc = cuda_nvrtc("");
  const int first = argc > 2 && strcmp(argv[1], "--ptx") == 0 ? 3 : 1;
  if (first == 3) ptx.folder = argv[2];
  if (nvrtc == NULL || (ptx.folder != NULL && !find_ptx())) {
    printf("%s\n", nvrtc == NULL ? cuda_nvrtc_missing() : "NVRTC has no nvrtcGetPTX");
    return 5;
  }
  int major = 0, minor = 0, all = 0;
  nvrtc->version(&major, &minor);
  for (int i = first; i < argc; i++) {
    tally_t tally = {.nvrtc = nvrtc, .architecture = atoi(argv[i])};
    compile_all(&tally);
    printf("NVRTC %d.%d, sm_%s: %d kernels, %d with errors or warnings\n", major, minor, argv[i],
           tally.count, tally.faults);
    all += tally.faults + (tally.count == 0);
  }
  if (ptx.folder != NULL) printf("%d written as PTX\n", ptx.written);
  return argc > first && all == 0 && (ptx.folder == NULL || ptx.written > 0) ? EXIT_SUCCESS
                                                                             : EXIT_FAILURE;
}
