# SPDX-License-Identifier: Apache-2.0
# The C++ client as an installed library: `cmake --install build --component library --prefix DIR`. What is installed are
# one archive, the headers of include/allotter, which include nothing else of this tree, and what `find_package` and
# pkg-config need.
#
# Of `base` it has what the client uses, file by file: no more of this project is in the way of a program that links it.
set(library_base check json result)
list(TRANSFORM library_base PREPEND ${CMAKE_SOURCE_DIR}/src/base/)
list(TRANSFORM library_base APPEND .cc)
add_library(allotter STATIC $<TARGET_OBJECTS:client> ${library_base})
target_link_libraries(allotter PUBLIC OpenSSL::SSL OpenSSL::Crypto simdjson::simdjson Boost::headers Threads::Threads)
target_include_directories(allotter INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_features(allotter INTERFACE cxx_std_20)

set(library COMPONENT library EXCLUDE_FROM_ALL)
install(TARGETS allotter EXPORT allotter ARCHIVE DESTINATION lib ${library})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/allotter DESTINATION include ${library} FILES_MATCHING PATTERN "*.h")
install(EXPORT allotter NAMESPACE allotter:: FILE allotterTargets.cmake DESTINATION lib/cmake/allotter ${library})

include(CMakePackageConfigHelpers)
set(made ${CMAKE_BINARY_DIR}/generated/library)
configure_package_config_file(${CMAKE_SOURCE_DIR}/packaging/library/allotterConfig.cmake.in ${made}/allotterConfig.cmake
  INSTALL_DESTINATION lib/cmake/allotter)
# Of 0.x each minor version may differ.
write_basic_package_version_file(${made}/allotterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/allotterConfig.cmake ${made}/allotterConfigVersion.cmake DESTINATION lib/cmake/allotter ${library})
configure_file(${CMAKE_SOURCE_DIR}/packaging/library/allotter.pc.in ${made}/allotter.pc @ONLY)
install(FILES ${made}/allotter.pc DESTINATION lib/pkgconfig ${library})
