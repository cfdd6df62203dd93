# SPDX-License-Identifier: Apache-2.0
# Embeds the stores' numbered migrations: src/store/KIND/migrations/NNNN_name.sql becomes one entry each of
# build/generated/NAME.inc, in order of number.
function(allot_migrations kind name)
  file(GLOB migrations CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/store/${kind}/migrations/*.sql)
  list(SORT migrations)
  set(entries "")
  foreach(file ${migrations})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(stem ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND entries "{\"${stem}\", R\"sql(${text})sql\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}.inc CONTENT "@entries@" @ONLY)
endfunction()
allot_migrations(sqlite store_migrations)
allot_migrations(postgres postgres_migrations)
target_include_directories(store PRIVATE ${CMAKE_BINARY_DIR}/generated)
