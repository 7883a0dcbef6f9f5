# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause

# tbk_add_conformance_test(NAME LIB [ARGUMENT...]) adds a test that judges LIB, a target or the path
# of a library, with tbk-run. The arguments are those of tbk-run. Results: NAME.jsonl in the folder
# of the build. The test passes where tbk-run answers 0, and is skipped where there is no device; with
# TBK_NEED_DEVICE that is a failure. Its label is "tbk"; tests of the same library never run at a time.
option(TBK_NEED_DEVICE "A machine without a device fails the tests of tbk" OFF)
function(tbk_add_conformance_test name library)
  set(lock ${library})
  if(TARGET ${library})
    set(library $<TARGET_FILE:${library}>)
  endif()
  add_test(NAME ${name} COMMAND tbk::tbk-run ${library} --output ${CMAKE_CURRENT_BINARY_DIR}/${name}.jsonl
                                ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600 LABELS tbk RESOURCE_LOCK "tbk:${lock}")
  if(NOT TBK_NEED_DEVICE)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 5)
  endif()
endfunction()
