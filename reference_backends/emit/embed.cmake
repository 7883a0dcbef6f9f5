# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause

# A source of several files as bytes, since a string may not be so long in ISO C.
function(embed symbol out)
  set(bytes "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} part HEX)
    string(APPEND bytes ${part})
  endforeach()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
       "extern const char @symbol@[];\nconst char @symbol@[] = {@bytes@0};\n")
endfunction()

# What stands before a kernel that is written from a program, for each dialect; ${EMIT_PRELUDES} are the
# sources. This file lies beside kernels/.
set(kernels ${CMAKE_CURRENT_LIST_DIR}/kernels)
set(opcodes ${kernels}/numbers.inc ${kernels}/opcodes.inc)
embed(emit_opencl_prelude ${CMAKE_CURRENT_BINARY_DIR}/opencl_prelude.c ${kernels}/opencl.inc ${opcodes})
embed(emit_cuda_prelude ${CMAKE_CURRENT_BINARY_DIR}/cuda_prelude.c ${kernels}/cuda.inc ${opcodes})
embed(emit_c_prelude ${CMAKE_CURRENT_BINARY_DIR}/c_prelude.c ${kernels}/c_types.inc ${kernels}/c.inc ${opcodes})
embed(emit_index_kernel ${CMAKE_CURRENT_BINARY_DIR}/index_kernel.c ${kernels}/index.inc)
embed(emit_sort_kernel ${CMAKE_CURRENT_BINARY_DIR}/sort_kernel.c ${kernels}/sort.inc)
embed(emit_matmul_kernel ${CMAKE_CURRENT_BINARY_DIR}/matmul_kernel.c ${kernels}/matmul.inc)
embed(emit_convolution_kernel ${CMAKE_CURRENT_BINARY_DIR}/convolution_kernel.c ${kernels}/convolution.inc)
set(EMIT_PRELUDES opencl_prelude.c cuda_prelude.c c_prelude.c index_kernel.c sort_kernel.c matmul_kernel.c
                  convolution_kernel.c)
list(TRANSFORM EMIT_PRELUDES PREPEND ${CMAKE_CURRENT_BINARY_DIR}/)

# What writes kernels from programs; a backend out of this project that has a compiler takes these.
set(EMIT_PROGRAM_SOURCES convolution.c fail.c frame.c index.c launch.c matmul.c object.c parts.c pointwise.c reduction.c
                         scan.c sort.c source.c tensor.c write.c)
list(TRANSFORM EMIT_PROGRAM_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
