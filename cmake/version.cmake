# SPDX-License-Identifier: Apache-2.0
# The version: that of the tag `v1.2.3` which is on the commit that is built; without such a tag, what stands here.
set(allot_version 0.1.0)
execute_process(COMMAND git describe --tags --exact-match --match "v[0-9]*" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  OUTPUT_VARIABLE tag ERROR_QUIET RESULT_VARIABLE no_tag OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT no_tag AND tag MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)$")
  set(allot_version ${CMAKE_MATCH_1})
endif()
