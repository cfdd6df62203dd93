# SPDX-License-Identifier: Apache-2.0
# Headers that are parsed once instead of once for each source, and how sanitizers optimise.
#
#   allot_compiled(TARGET [ROOM])  builds TARGET, which belongs to ROOM, with the precompiled headers of that room.
#
# Reading headers is half of what a source costs. Of our own headers only the central one of the room itself is
# precompiled: names of a higher room could be in the way of its own. A source that forgets an include fails in
# `./dev lint`, which does without (ALLOT_PRECOMPILED). They are named as they are included, without the path of the
# checkout: another one finds what was compiled here in the compiler cache.
#
# With sanitizers, the rooms up to the engine are optimised a little, as their tests compute a lot: one of backlog's takes
# 15 s with -O1 and more than 75 s without. All else waits for sockets and files and is not, which halves its compilation.
option(ALLOT_PRECOMPILED "Precompile headers" ON)
if(NOT ALLOT_PRECOMPILED)
  function(allot_compiled target)
  endfunction()
  return()
endif()

# One precompiled header serves targets whose definitions and options are the same: all get those of all libraries.
add_library(all_options INTERFACE)
target_link_libraries(all_options INTERFACE simdjson::simdjson fmt::fmt spdlog::spdlog tomlplusplus::tomlplusplus
  CLI11::CLI11 GTest::gtest Boost::headers Threads::Threads)
target_compile_options(all_options INTERFACE -pthread)

set(core <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring>
  <deque> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream>
  <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <boost/container/small_vector.hpp> <boost/unordered/unordered_flat_map.hpp>
  <fmt/format.h> <gtest/gtest.h> <simdjson.h>)
set(engine ${core} <engine/engine.h>)
set(network <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/write.hpp>)
set(client ${core} ${network})
set(cli ${core} <CLI/CLI.hpp> <allotter/client.h>)
set(server ${engine} ${network} <boost/asio/ssl.hpp> <boost/beast/core/flat_buffer.hpp>
  <server/queue/queue_runtime.h>)
foreach(which core engine client cli server)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled_${which}.cc CONTENT "" @ONLY)
  add_library(precompiled_${which} OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled_${which}.cc)
  target_link_libraries(precompiled_${which} PRIVATE all_options)
  target_precompile_headers(precompiled_${which} PRIVATE ${${which}})
  if(ALLOT_SANITIZE AND which MATCHES "^(core|engine)$")
    target_compile_options(precompiled_${which} PRIVATE -O1)
  endif()
endforeach()

function(allot_compiled target)
  set(which core)
  if(ARGV1 MATCHES "^(engine|client|cli|server)$")
    set(which ${ARGV1})
  endif()
  target_link_libraries(${target} PRIVATE all_options)
  if(ALLOT_SANITIZE AND which MATCHES "^(core|engine)$")
    target_compile_options(${target} PRIVATE -O1)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_${which})
endfunction()
