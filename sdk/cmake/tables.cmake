# Whether the sources of a plugin that are no helpers state their tables as the build asks for:
# cmake -DTABLES="file=table;..." -DOBJECTS= -DNM= -P tables.cmake
# A table that no text names may be a macro's: then it is among the symbols of the objects.
if(NM)
  execute_process(COMMAND ${NM} -g ${OBJECTS} OUTPUT_VARIABLE symbols ERROR_QUIET)
endif()
foreach(pair ${TABLES})
  string(REGEX REPLACE "=[^=]*$" "" source ${pair})
  string(REGEX REPLACE "^.*=" "" wanted ${pair})
  file(READ ${source} text)
  if(text MATCHES "[^A-Za-z0-9_]${wanted}[^A-Za-z0-9_]" OR "${symbols}" MATCHES "[A-TV-Za-z] _?${wanted}\n")
    continue()
  endif()
  if(text MATCHES "bt_table[ \n]+(bt_[A-Za-z0-9_]+)[ \n]*\\[")
    message(FATAL_ERROR "${source}: the table is called ${CMAKE_MATCH_1}, expected ${wanted}: bt_, the plugin's name, _ and "
      "the file's name")
  elseif(symbols)
    message(FATAL_ERROR "${source}: expected `const bt_table ${wanted}[]`, which lists what the file provides; a helper "
      "without it has a .h of the same name")
  endif()
endforeach()
