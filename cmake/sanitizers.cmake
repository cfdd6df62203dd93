# How sanitizers are built with clang: which headers are parsed once, and what is optimised.
#
# Headers that nearly every source reads are precompiled, only here: such builds are nearly always whole ones. All other
# builds do without, so that a source that forgets an include fails there.
#
# The rooms up to the engine are optimised a little, as their tests compute a lot: one of backlog's takes
# 15 s with -O1 and more than 75 s without. All else waits for sockets and files and is not, which halves its compilation.
#
#   allot_sanitized(TARGET [ROOM])  builds TARGET, which belongs to ROOM, so; does nothing in other builds.
if(NOT ALLOT_SANITIZE OR ALLOT_FUZZ OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  function(allot_sanitized target)
  endfunction()
  return()
endif()

# One precompiled header serves targets whose definitions and options are the same: all get those of all libraries.
add_library(all_options INTERFACE)
target_link_libraries(all_options INTERFACE simdjson::simdjson fmt::fmt spdlog::spdlog tomlplusplus::tomlplusplus
  GTest::gtest Boost::headers Threads::Threads)
target_compile_options(all_options INTERFACE -pthread)

# Of our own headers only the central one of the room itself: names of a higher room could be in the way of its own.
set(libraries <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring>
  <deque> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream>
  <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h> <gtest/gtest.h> <simdjson.h>)
set(core ${libraries})
set(engine ${libraries} ${CMAKE_SOURCE_DIR}/src/engine/engine.h)
set(server ${engine} ${CMAKE_SOURCE_DIR}/src/server/queue_runtime.h)
foreach(which core engine libraries server)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled_${which}.cc CONTENT "" @ONLY)
  add_library(precompiled_${which} OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled_${which}.cc)
  target_link_libraries(precompiled_${which} PRIVATE all_options)
  target_precompile_headers(precompiled_${which} PRIVATE ${${which}})
endforeach()
target_compile_options(precompiled_core PRIVATE -O1)
target_compile_options(precompiled_engine PRIVATE -O1)

function(allot_sanitized target)
  set(room ${ARGV1})
  set(which libraries)
  if(room MATCHES "^(engine|server)$")
    set(which ${room})
  elseif(room MATCHES "^(base|expr|backlog|match|strategy|limits|dispatch)$")
    set(which core)
  endif()
  target_link_libraries(${target} PRIVATE all_options)
  if(which MATCHES "^(core|engine)$")
    target_compile_options(${target} PRIVATE -O1)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_${which})
endfunction()
