# Texts of C that a plugin copies into what it writes, as strings: parts with a blank line between them, and no other.
#
#   baton_add_blocks(TARGET SYMBOL FILE...)
#
# The target gets `const char *const SYMBOL[]`, a string a part, files in their order, 0 behind the last.
function(baton_add_blocks target symbol)
  set(strings "")
  foreach(file ${ARGN})
    get_filename_component(file ${file} ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n\n" "\\n\",\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n\"" text "${text}")
    string(APPEND strings "\"${text}\",\n")
  endforeach()
  file(CONFIGURE OUTPUT ${symbol}.c @ONLY CONTENT
    "extern const char *const ${symbol}[];\nconst char *const ${symbol}[] = {\n@strings@0};\n")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
endfunction()
