# SPDX-License-Identifier: Apache-2.0
# Builds the dashboard (web/) and the documents (docs/) with npm and embeds their files: library web_assets, which
# implements server/web_assets.h. With ALLOT_WEB off it has none.
option(ALLOT_WEB "Build the dashboard and the documents into the program" ON)

set(web_dir ${CMAKE_SOURCE_DIR}/web)
set(web_source ${CMAKE_BINARY_DIR}/generated/web_assets.cc)

if(ALLOT_WEB)
  find_program(NPM npm)
  find_program(NODE NAMES node nodejs)
  if(NOT NPM OR NOT NODE)
    message(FATAL_ERROR "the dashboard needs node and npm; -DALLOT_WEB=OFF builds without it")
  endif()

  set(web_packages ${web_dir}/node_modules/.allot-packages)
  add_custom_command(OUTPUT ${web_packages}
    COMMAND ${CMAKE_COMMAND} -DWEB_DIR=${web_dir} -DNPM=${NPM} -P ${CMAKE_SOURCE_DIR}/cmake/web_packages.cmake
    DEPENDS ${web_dir}/package.json ${web_dir}/package-lock.json
    COMMENT "web: packages" VERBATIM)

  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web_dir}/src/*)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/web.stamp
    COMMAND ${CMAKE_COMMAND} -E env ALLOT_WEB_OUT=${CMAKE_BINARY_DIR}/web npm_config_update_notifier=false
      ${NPM} run --prefix ${web_dir} --silent build -- --logLevel warn
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/web.stamp
    DEPENDS ${web_packages} ${web_sources} ${web_dir}/index.html ${web_dir}/vite.config.ts ${web_dir}/tsconfig.json
    WORKING_DIRECTORY ${web_dir}
    COMMENT "web: dashboard" VERBATIM)

  # What links lead to outside of docs/ is served too: READMEs of clients, examples.
  file(GLOB_RECURSE documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/* ${CMAKE_SOURCE_DIR}/examples/*)
  file(GLOB documents_beside CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/*.md ${CMAKE_SOURCE_DIR}/clients/*/README.md
    ${CMAKE_SOURCE_DIR}/bench/*.md)
  file(GLOB documents_tools CONFIGURE_DEPENDS ${web_dir}/docs/*)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/web-docs.stamp
    COMMAND ${NODE} ${web_dir}/docs/build.mjs ${CMAKE_BINARY_DIR}/web-docs ${PROJECT_VERSION}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/web-docs.stamp
    DEPENDS ${web_packages} ${web_sources} ${documents} ${documents_beside} ${documents_tools}
    COMMENT "web: documents" VERBATIM)

  add_custom_command(OUTPUT ${web_source}
    COMMAND ${NODE} ${web_dir}/embed.mjs ${web_source} ${CMAKE_BINARY_DIR}/web ${CMAKE_BINARY_DIR}/web-docs
    DEPENDS ${CMAKE_BINARY_DIR}/web.stamp ${CMAKE_BINARY_DIR}/web-docs.stamp ${web_dir}/embed.mjs VERBATIM)

  if(ALLOT_TESTS)
    add_test(NAME web_unit COMMAND ${NPM} run --silent check-and-test WORKING_DIRECTORY ${web_dir})
    set_tests_properties(web_unit PROPERTIES TIMEOUT 120)
  endif()
else()
  file(CONFIGURE OUTPUT ${web_source} @ONLY CONTENT "// Built without the dashboard (ALLOT_WEB).
#include \"server/web_assets.h\"

std::span<const allot::WebAsset> allot::WebAssets() { return {}; }
")
endif()

add_library(web_assets STATIC ${web_source})
