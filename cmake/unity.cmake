# SPDX-License-Identifier: Apache-2.0
# Unity builds: neighbours of a folder are compiled together, as one source that includes them.
#
# Most of what a source costs is what it includes, and the templates that it instantiates; neighbours share both. From
# nothing, everything costs a third of what it does file by file. A change costs its batch, which is one to three times
# the file; ALLOT_UNITY=OFF (cmake --preset default -DALLOT_UNITY=OFF) compiles each for itself, for whoever edits one
# file time and again.
#
# They are made here, not by CMake: its own name their sources by whole paths, so that no two checkouts compile the same
# text, and none finds in the compiler cache what another has compiled.
#
#   allot_unite(TARGET LIST)  in LIST, puts such sources in the place of those that can be compiled together.
#
# What it asks of sources: names in anonymous namespaces are their own among all sources of the target, and no macros
# are left behind. A source that forgets an include of its own may compile here and fails in `./dev lint`, which looks
# at sources as the preset `clang` compiles them: each for itself, without precompiled headers.
option(ALLOT_UNITY "Compile neighbours together" ON)
set(ALLOT_UNITY_BATCH 12 CACHE STRING "How many sources are compiled together at most")
if(ALLOT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes what is included for a header, and types that hold names of anonymous namespaces for a mistake there.
  add_compile_options(-Wno-subobject-linkage)
endif()
# What is compiled alone. The terminal's headers define macros such as `columns` and `lines`. The pool replaces
# `operator new`: an object of its own, so that a test which counts allocations can bring another. The version is a
# definition that others need not be compiled anew for.
set(allot_alone src/cli/top/screen.cc src/base/memory_pool.cc src/base/version.cc)

function(allot_unite target list)
  list(LENGTH ${list} count)
  if(NOT ALLOT_UNITY OR count LESS 2)
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/generated/unity)
  set(result "")
  set(batch "")
  set(in_batch 0)
  set(batches 0)
  foreach(source ${${list}})
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
    if(name IN_LIST allot_alone)
      list(APPEND result ${source})
      continue()
    endif()
    file(RELATIVE_PATH path ${folder} ${source})
    string(APPEND batch "#include \"${path}\"\n")
    math(EXPR in_batch "${in_batch} + 1")
    if(in_batch EQUAL ALLOT_UNITY_BATCH)
      allot_write_batch()
    endif()
  endforeach()
  if(in_batch GREATER 0)
    allot_write_batch()
  endif()
  set(${list} ${result} PARENT_SCOPE)
endfunction()

# For allot_unite alone: the batch that it has becomes a source. It is written only where it changed.
macro(allot_write_batch)
  set(united ${folder}/${target}_${batches}.cc)
  file(CONFIGURE OUTPUT ${united} CONTENT "${batch}" @ONLY)
  list(APPEND result ${united})
  math(EXPR batches "${batches} + 1")
  set(batch "")
  set(in_batch 0)
endmacro()
