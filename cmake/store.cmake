# Embeds the SQLite store's numbered migrations: src/store/sqlite/migrations/NNNN_name.sql becomes one entry each of
# build/generated/store_migrations.inc, in order of number.
file(GLOB migrations CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/store/sqlite/migrations/*.sql)
list(SORT migrations)
set(entries "")
foreach(file ${migrations})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "{\"${name}\", R\"sql(${text})sql\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/store_migrations.inc CONTENT "@entries@" @ONLY)
target_include_directories(store PRIVATE ${CMAKE_BINARY_DIR}/generated)
