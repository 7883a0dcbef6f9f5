# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
#
# emit_variants: what kernels.inc is compiled with, one kernel a row.
set(emit_variants -DRANDOM\ -DBYTES=4)
foreach(bytes 1 2 4 8 16)
  foreach(kernel FILL COPY WHERE)
    list(APPEND emit_variants "-D${kernel} -DBYTES=${bytes}")
  endforeach()
endforeach()
foreach(dtype 0 1 2 3 4 5 6 7 9 10 11 15)
  foreach(kernel ADD MUL MM CONVERT)
    list(APPEND emit_variants "-D${kernel} -DOUT=${dtype}")
  endforeach()
  foreach(kernel SUM_EACH SUM_GROUP)
    list(APPEND emit_variants "-D${kernel} -DOUT=${dtype} -DIN=${dtype}")
    if(dtype MATCHES "^(0|1|2|3|11)$") # integers are summed up in int64 too
      list(APPEND emit_variants "-D${kernel} -DOUT=4 -DIN=${dtype}")
    endif()
  endforeach()
endforeach()
