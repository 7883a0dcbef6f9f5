# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause

# tbk_add_conformance_test(NAME LIB [ARGUMENT...]) adds a test that judges LIB, a target or the path
# of a library, with tbk-run. The arguments are those of tbk-run. Results: NAME.jsonl in the folder
# of the build. The test passes where tbk-run answers 0.
function(tbk_add_conformance_test name library)
  if(TARGET ${library})
    set(library $<TARGET_FILE:${library}>)
  endif()
  add_test(NAME ${name} COMMAND tbk::tbk-run ${library} --output ${CMAKE_CURRENT_BINARY_DIR}/${name}.jsonl
                                ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600)
endfunction()
