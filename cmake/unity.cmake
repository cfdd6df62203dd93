# SPDX-License-Identifier: Apache-2.0
# Unity builds: neighbours of a folder are compiled together, as one source that includes them.
#
# Most of what a source costs is what it includes, and the templates that it instantiates; neighbours share both. From
# nothing, everything costs a third of what it does file by file. A change costs its batch, which is one to three times
# the file; ALLOT_UNITY=OFF (cmake --preset default -DALLOT_UNITY=OFF) compiles each for itself, for whoever edits one
# file time and again.
#
# What it asks of sources: names in anonymous namespaces are their own among all sources of the target, and no macros
# are left behind. A source that forgets an include of its own may compile here and fails in `./dev lint`, which looks
# at sources as the preset `clang` compiles them: each for itself, without precompiled headers.
option(ALLOT_UNITY "Compile neighbours together" ON)
set(ALLOT_UNITY_BATCH 12 CACHE STRING "How many sources are compiled together at most; 0: all of a target")
set(CMAKE_UNITY_BUILD ${ALLOT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE ${ALLOT_UNITY_BATCH})
if(ALLOT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes what is included for a header, and types that hold names of anonymous namespaces for a mistake there.
  add_compile_options(-Wno-subobject-linkage)
endif()
# The terminal's headers define macros such as `columns` and `lines`.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/top/screen.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# It replaces `operator new`: an object of its own, so that a test which counts allocations can bring another.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/memory_pool.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
