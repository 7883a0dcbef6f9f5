/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * compile.c: tbk-cuda-compile ARCHITECTURE... compiles every kernel for each (90 for sm_90), as the
 * backend does, and writes what the compiler says. It needs no device. Ends with 0 where all are compiled
 * without a word, with 5 where there is no NVRTC.
 */
#include <emit/job.h>
#include <stdio.h>
#include <stdlib.h>

#include "../nvrtc.h"

/* Compiles all kernels; returns how many failed or made the compiler say something. */
static int compile_all(const cuda_nvrtc_t* nvrtc, int architecture, int* out_count) {
  int faults = 0;
  *out_count = 0;
  for (const char* const* variant = emit_variants; *variant != NULL; variant++, ++*out_count) {
    cuda_build_t build = {.options = *variant, .architecture = architecture};
    cuda_image_t image = {NULL, 0};
    const bool compiled = cuda_nvrtc_compile(nvrtc, &build, &image);
    free(compiled ? image.bytes : NULL);
    if (compiled && build.log[0] == '\0') continue;
    faults++;
    printf("%s: %s\n%s\n", *variant, compiled ? "warnings" : build.reason, build.log);
  }
  return faults;
}

int main(int argc, char** argv) {
  const cuda_nvrtc_t* nvrtc = cuda_nvrtc("");
  if (nvrtc == NULL) {
    printf("%s\n", cuda_nvrtc_missing());
    return 5;
  }
  int major = 0, minor = 0, all = 0;
  nvrtc->version(&major, &minor);
  for (int i = 1; i < argc; i++) {
    int count;
    const int faults = compile_all(nvrtc, atoi(argv[i]), &count);
    printf("NVRTC %d.%d, sm_%s: %d kernels, %d with errors or warnings\n", major, minor, argv[i],
           count, faults);
    all += faults + (count == 0);
  }
  return argc > 1 && all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
