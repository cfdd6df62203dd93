# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and the compiler cache are chosen here and nowhere else.
#
# Warnings are errors where the project is checked (CI=true, and with sanitizers), not where a compiler that we have not
# seen builds it for somebody who wants to run it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
find_program(CCACHE ccache)
if(CCACHE)
  # What it must overlook for sources with precompiled headers (precompiled.cmake). Another checkout of the same
  # sources finds there what this one has compiled: no path above the checkout is part of an object.
  # It goes by the contents of what is included, not by preprocessed text: that is the same when only comments differ, and
  # a precompiled header with other comments is another one to the compiler, which then reads its headers twice.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
  add_compile_options(-fdebug-prefix-map=${CMAKE_SOURCE_DIR}=.)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  else()
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
set(warnings_are_errors OFF)
if("$ENV{CI}" STREQUAL "true" OR ALLOT_SANITIZE)
  set(warnings_are_errors ON)
endif()
option(ALLOT_WERROR "Warnings are errors" ${warnings_are_errors})
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(ALLOT_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely inside the standard library and Boost at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
                      -Wno-restrict -Wno-dangling-pointer)
endif()
if(ALLOT_SANITIZE)
  # A finding ends the program: it is never only a line in the output of a test that passes.
  add_compile_options(-fsanitize=${ALLOT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ALLOT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND ALLOT_SANITIZE MATCHES "undefined")
    # What clang 14 puts before functions for it cannot stand before a part of a coroutine.
    add_compile_options(-fno-sanitize=function)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT ALLOT_FUZZ)
    # Without optimisation unless precompiled.cmake says otherwise.
    add_compile_options(-O0 -gline-tables-only)
    add_link_options(-fuse-ld=lld)
  else()
    add_compile_options(-O1)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND ALLOT_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)
  endif()
endif()
