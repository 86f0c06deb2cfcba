# Whether the sources of a plugin name their tables as the build asks for: cmake -DPREFIX= -DSOURCES= -P tables.cmake
# What no text of a source tells, as where a macro makes the table, is left to the linker.
foreach(source ${SOURCES})
  get_filename_component(base ${source} NAME_WE)
  get_filename_component(folder ${source} DIRECTORY)
  set(wanted bt_${PREFIX}_${base})
  file(READ ${source} text)
  if(EXISTS ${folder}/${base}.h OR text MATCHES "[^A-Za-z0-9_]${wanted}[^A-Za-z0-9_]")
    continue()
  endif()
  if(text MATCHES "bt_table[ \n]+(bt_[A-Za-z0-9_]+)[ \n]*\\[")
    message(FATAL_ERROR "${source}: the table is called ${CMAKE_MATCH_1}, expected ${wanted}: bt_, the plugin's name, _ and "
      "the file's name")
  endif()
endforeach()
