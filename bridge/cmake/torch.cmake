# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# Decides TBK_BUILD_BRIDGE and says why; sets TBK_TORCH_ROOT and TBK_TORCH_VERSION. Imports nothing:
# where a package lies and which version it has can be asked without the seconds of `import torch`.
set(TBK_TORCH_MINIMUM 2.11)
set(TBK_BUILD_BRIDGE OFF)

if(TBK_BRIDGE STREQUAL "OFF")
  message(STATUS "bridge to PyTorch: off, as asked")
  return()
endif()
if(TBK_SANITIZE_THREAD)
  message(STATUS "bridge to PyTorch: off, PyTorch itself is not built for ThreadSanitizer")
  return()
endif()

if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.10 QUIET COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
include(CheckLanguage)
check_language(CXX)

set(TBK_NO_BRIDGE "")
if(NOT Python_Interpreter_FOUND)
  set(TBK_NO_BRIDGE "there is no Python of 3.10 or later")
else()
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import importlib.metadata as m, importlib.util as u
print(m.version('torch'), u.find_spec('torch').submodule_search_locations[0], sep=';', end='')"
    OUTPUT_VARIABLE TBK_TORCH RESULT_VARIABLE TBK_TORCH_MISSING ERROR_QUIET)
  if(NOT TBK_TORCH_MISSING)
    list(GET TBK_TORCH 0 TBK_TORCH_VERSION)
    list(GET TBK_TORCH 1 TBK_TORCH_ROOT)
  endif()
  if(TBK_TORCH_MISSING)
    set(TBK_NO_BRIDGE "${Python_EXECUTABLE} has no torch")
  elseif(TBK_TORCH_VERSION VERSION_LESS TBK_TORCH_MINIMUM)
    set(TBK_NO_BRIDGE "torch ${TBK_TORCH_VERSION} is older than ${TBK_TORCH_MINIMUM}")
  elseif(NOT Python_Development.Module_FOUND)
    set(TBK_NO_BRIDGE "the headers of Python ${Python_VERSION} are missing (Debian: python3-dev)")
  elseif(NOT CMAKE_CXX_COMPILER)
    set(TBK_NO_BRIDGE "there is no C++ compiler")
  endif()
endif()

if(NOT TBK_NO_BRIDGE)
  set(TBK_BUILD_BRIDGE ON)
  message(STATUS "bridge to PyTorch: on, for torch ${TBK_TORCH_VERSION} of ${Python_EXECUTABLE}")
elseif(TBK_BRIDGE STREQUAL "AUTO")
  message(STATUS "bridge to PyTorch: off, ${TBK_NO_BRIDGE}")
else()
  message(FATAL_ERROR "TBK_BRIDGE is ${TBK_BRIDGE}, but ${TBK_NO_BRIDGE}")
endif()
