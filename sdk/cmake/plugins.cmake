# Plugins: a folder with a plugin.json (id, version, license, doc) and .c files is one plugin. Every .c file states its
# tables as `const bt_table bt_<prefix>_<file>[]` (swish/swish.c: bt_swish_swish); one with a .h of the same name is a helper
# without tables, and so are NAME_*.c beside NAME.h that do not name such a table. There is no list to edit: a missing or misnamed
# table fails to build and names the file. Files <folder>/libraries/NAME.baton are texts that programs import
# (a plugin of libraries needs no .c file), and <folder>/pipelines/NAME.json are pipelines of the
# plugin. The build writes the manifest, NAME.baton.json, beside the shared object: plugin.json and what the tables hold.
#
#   baton_add_isa(ISA PROCESSORS name... FLAGS flag...)
#   baton_add_plugin(FOLDER [NAME name] [FOLDERS folder...])
#
# name     of the target and its files; in Baton's own tree the path (ops/nn -> ops.nn), elsewhere the folder's name
# prefix   the name, with "_" for what C does not allow
# folders  below FOLDER whose sources belong to the plugin too; the table of fast/swish.c is then bt_<prefix>_fast_swish.
#          Sources find the headers of the plugin from FOLDER (fast/loops.h) and those beside them
#
# A source NAME.ISA.c belongs to NAME.c and is compiled with the flags that baton_add_isa gave for that instruction set, where
# CMAKE_SYSTEM_PROCESSOR is one of the processors; elsewhere with none, so it asks __AVX2__ or the like.
#
# Sources may be in C++ too (.cpp); BT_TABLES states a table there. `cmake --install` puts a plugin into lib/baton/plugins of its
# prefix, where Baton finds it if that is Baton's own.
#
# This file serves Baton's tree and, installed, everybody else's.

if(TARGET baton_objects)
  set(BATON_LIBRARY baton)
  set(BATON_TOOL baton_program)
  set(BATON_TREE ${CMAKE_SOURCE_DIR})
  set(BATON_PLUGIN_FOLDER ${CMAKE_INSTALL_LIBDIR}/baton/plugins)
else()
  set(BATON_LIBRARY baton::baton)
  set(BATON_TOOL baton::program)
  set(BATON_TREE "")
endif()
set(BATON_CMAKE_FOLDER ${CMAKE_CURRENT_LIST_DIR})

# Instruction sets are those of the folder whose CMakeLists.txt adds them, and of the ones below it.
function(baton_add_isa isa)
  cmake_parse_arguments(ARG "" "" "PROCESSORS;FLAGS" ${ARGN})
  if(NOT isa MATCHES "^[A-Za-z0-9_]+$" OR NOT ARG_PROCESSORS OR NOT ARG_FLAGS OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "baton_add_isa(${isa}): expected baton_add_isa(ISA PROCESSORS name... FLAGS flag...), as in "
      "baton_add_isa(avx2 PROCESSORS x86_64 AMD64 FLAGS -mavx2 -mfma)")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR IN_LIST ARG_PROCESSORS)
    set(ARG_FLAGS "")
  endif()
  set(BATON_ISAS ${BATON_ISAS} ${isa} PARENT_SCOPE)
  set(BATON_ISA_${isa} "${ARG_FLAGS}" PARENT_SCOPE)
endfunction()

# NAME.c and its twins are loops to be made vectors of: no exceptions of floats and no errno are asked for, which changes no
# result.
function(baton_compile_for_isa)
  set(flags_loops $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-math-errno -fno-trapping-math $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
  set(bases "")
  foreach(source ${ARGN})
    if(source MATCHES "^(.*/[^/.]+)\\.([^/]+)\\.c$")
      if(NOT CMAKE_MATCH_2 IN_LIST BATON_ISAS)
        message(FATAL_ERROR "${source}: no instruction set \"${CMAKE_MATCH_2}\": baton_add_isa(${CMAKE_MATCH_2} PROCESSORS "
          "name... FLAGS flag...) before baton_add_plugin adds it")
      endif()
      list(APPEND bases ${CMAKE_MATCH_1}.c)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${flags_loops} ${BATON_ISA_${CMAKE_MATCH_2}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES bases)
  foreach(source ${bases})
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${flags_loops})
  endforeach()
endfunction()

function(baton_add_plugin folder)
  cmake_parse_arguments(ARG "" "NAME" "FOLDERS" ${ARGN})
  get_filename_component(folder ${folder} ABSOLUTE)
  set(name ${ARG_NAME})
  if(NOT name AND BATON_TREE)
    file(RELATIVE_PATH name ${BATON_TREE} ${folder})
    string(REPLACE "/" "." name ${name})
  elseif(NOT name)
    get_filename_component(name ${folder} NAME)
  endif()
  string(MAKE_C_IDENTIFIER ${name} prefix)
  if(NOT EXISTS ${folder}/plugin.json)
    message(FATAL_ERROR "${folder}/plugin.json does not exist: it states the plugin's id, version and license")
  endif()
  set(sources "")
  foreach(part . ${ARG_FOLDERS})
    get_filename_component(part ${part} ABSOLUTE BASE_DIR ${folder})
    file(GLOB found CONFIGURE_DEPENDS ${part}/*.c ${part}/*.cpp)
    file(GLOB headers CONFIGURE_DEPENDS ${part}/*.h) # a new one can make a helper
    if(NOT found AND NOT EXISTS ${folder}/libraries AND NOT (part STREQUAL folder AND ARG_FOLDERS))
      message(FATAL_ERROR "no .c files in ${part}")
    endif()
    if("${found}" MATCHES "[.]cpp(;|$)" AND NOT CMAKE_CXX_COMPILER)
      message(FATAL_ERROR "${part} has sources in C++: project(... LANGUAGES C CXX) finds a compiler for them")
    endif()
    list(APPEND sources ${found})
  endforeach()
  if(sources)
    baton_compile_for_isa(${sources})
  endif()
  file(READ ${folder}/plugin.json seed)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/plugin.json)
  baton_read_field(${folder} "${seed}" id "^[A-Za-z0-9_.-]+$" "letters, digits, _ . and -, as in org.example.gelu")
  baton_read_field(${folder} "${seed}" version "^[0-9]+[.][0-9]+[.][0-9]+(-.+)?$" "three numbers, as in 0.1.0")
  baton_read_field(${folder} "${seed}" license "." "a text that is not empty, as in Apache-2.0")
  set(externs "")
  set(rows "")
  set(table_sources "")
  foreach(source ${sources})
    file(RELATIVE_PATH stem ${folder} ${source})
    string(REGEX REPLACE "[.][^/]*$" "" stem ${stem})
    string(REPLACE "/" "_" table bt_${prefix}_${stem})
    baton_is_helper(${source} ${folder}/${stem} ${table} is_helper)
    if(NOT is_helper AND NOT source MATCHES "/[^/.]+[.][^/]+[.]c$")
      string(APPEND externs "extern const bt_table ${table}[];\n")
      list(APPEND rows ${table})
      list(APPEND table_sources ${source}=${table})
    endif()
  endforeach()
  list(JOIN rows ", " rows)
  if(NOT rows) # nothing but files
    set(rows NULL)
  endif()
  set(output "${BATON_PLUGIN_OUTPUT}")
  if(NOT output)
    set(output ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  baton_read_files(${folder} ${name} ${output} seed)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated/${name})
  configure_file(${BATON_CMAKE_FOLDER}/plugin.c.in ${generated}.c @ONLY)
  file(CONFIGURE OUTPUT ${generated}.json CONTENT "${seed}" @ONLY)
  if(BATON_STATIC_PLUGINS AND BATON_TREE AND NOT BATON_PLUGINS_ARE_TESTS)
    baton_link_plugin(${name} ${prefix} ${folder} "${sources}" ${generated} "${seed}")
    return()
  endif()
  add_library(${name} MODULE ${sources} ${generated}.c)
  target_include_directories(${name} PRIVATE ${folder})
  target_link_libraries(${name} PRIVATE ${BATON_LIBRARY} m)
  if(TARGET baton_flags)
    target_link_libraries(${name} PRIVATE baton_flags)
  endif()
  # A misspelt function fails to link, not to load; sanitizers leave their own functions to the program.
  target_link_options(${name} PRIVATE -Wl,-z,now)
  if(NOT BATON_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  target_compile_options(${name} PRIVATE -fvisibility=hidden)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX .so POSITION_INDEPENDENT_CODE ON
    LIBRARY_OUTPUT_DIRECTORY ${output} BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN/../..")
  # A table that is missing, or has another name than the build asks for, is found before the linker meets it.
  add_custom_command(TARGET ${name} PRE_LINK VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DTABLES=${table_sources}" -DNM=${CMAKE_NM}
            "-DOBJECTS=$<TARGET_OBJECTS:${name}>" -P ${BATON_CMAKE_FOLDER}/tables.cmake)
  # Written beside and renamed, so that a build cut short leaves no half manifest.
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:${BATON_TOOL}> -DPLUGIN=$<TARGET_FILE:${name}> -DSEED=${generated}.json
            -DBINARY=${name}.so -DOUT=${output}/${name}.baton.json -P ${BATON_CMAKE_FOLDER}/describe.cmake)
  add_dependencies(${name} ${BATON_TOOL})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${generated}.json)
  if(NOT BATON_PLUGINS_ARE_TESTS)
    install(TARGETS ${name} LIBRARY DESTINATION ${BATON_PLUGIN_FOLDER})
    install(FILES ${output}/${name}.baton.json DESTINATION ${BATON_PLUGIN_FOLDER})
    install(DIRECTORY ${output}/${name} DESTINATION ${BATON_PLUGIN_FOLDER} OPTIONAL)
  endif()
endfunction()

# Whether a source, named without its end, has no table of this name.
function(baton_is_helper source stem table variable)
  set(${variable} FALSE PARENT_SCOPE)
  if(EXISTS ${stem}.h)
    set(${variable} TRUE PARENT_SCOPE)
    return()
  endif()
  while(stem MATCHES "^(.*/[^/]+)_[^/_]*$")
    set(stem ${CMAKE_MATCH_1})
    if(EXISTS ${stem}.h)
      file(READ ${source} text)
      if(NOT text MATCHES "${table}")
        set(${variable} TRUE PARENT_SCOPE)
      endif()
      return()
    endif()
  endwhile()
endfunction()

# A field of plugin.json, in a variable of its name. Whatever else is in the file is checked when the manifest is written.
function(baton_read_field folder seed field pattern what)
  string(JSON value ERROR_VARIABLE fault GET "${seed}" ${field})
  if(fault MATCHES "not found")
    message(FATAL_ERROR "${folder}/plugin.json: field \"${field}\" is missing: ${what}")
  elseif(fault)
    message(FATAL_ERROR "${folder}/plugin.json: ${fault}")
  elseif(NOT value MATCHES "${pattern}")
    message(FATAL_ERROR "${folder}/plugin.json: field \"${field}\": expected ${what}, found \"${value}\"")
  endif()
  set(${field} "${value}" PARENT_SCOPE)
endfunction()

# Copies a plugin's pipelines and libraries beside its manifest and names them in the manifest's seed.
function(baton_read_files folder name output seed_variable)
  set(seed "${${seed_variable}}")
  foreach(kind pipelines libraries)
    file(GLOB files CONFIGURE_DEPENDS ${folder}/${kind}/*.json ${folder}/${kind}/*.baton)
    set(items "[]")
    set(count 0)
    foreach(file ${files})
      get_filename_component(base ${file} NAME_WE)
      get_filename_component(file_name ${file} NAME)
      baton_read_doc(${kind} ${file} doc)
      string(JSON item SET "{}" name "\"${base}\"")
      string(JSON item SET "${item}" doc "\"${doc}\"")
      string(JSON item SET "${item}" path "\"${name}/${file_name}\"")
      string(JSON items SET "${items}" ${count} "${item}")
      math(EXPR count "${count} + 1")
      configure_file(${file} ${output}/${name}/${file_name} COPYONLY)
    endforeach()
    if(count GREATER 0)
      string(JSON provides ERROR_VARIABLE none GET "${seed}" provides)
      if(none)
        string(JSON seed SET "${seed}" provides "{}")
      endif()
      string(JSON seed SET "${seed}" provides ${kind} "${items}")
    endif()
  endforeach()
  set(${seed_variable} "${seed}" PARENT_SCOPE)
endfunction()

# The sentence on what a file is for: the field "doc" of a pipeline, the first comment of a library.
function(baton_read_doc kind file variable)
  if(kind STREQUAL pipelines)
    file(READ ${file} text)
    string(JSON doc ERROR_VARIABLE fault GET "${text}" doc)
    set(where "field \"doc\"")
  else()
    file(STRINGS ${file} doc REGEX "^// " LIMIT_COUNT 1)
    string(REGEX REPLACE "^// " "" doc "${doc}")
    set(where "a first comment (// ...)")
  endif()
  if(fault OR NOT doc)
    message(FATAL_ERROR "${file}: ${where} is missing: a sentence on what is in it")
  endif()
  string(REPLACE "\\" "\\\\" doc "${doc}")
  string(REPLACE "\"" "\\\"" doc "${doc}")
  set(${variable} "${doc}" PARENT_SCOPE)
endfunction()

# ---- linked into libbaton: -DBATON_STATIC_PLUGINS=ON ----

# A text as a C string.
function(baton_c_string text variable)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  set(${variable} "\"${text}\"" PARENT_SCOPE)
endfunction()

# The same sources and table, as part of libbaton; the seed, the pipelines and the libraries as texts.
function(baton_link_plugin name prefix folder sources generated seed)
  add_library(${name} OBJECT ${sources} ${generated}.c)
  target_compile_definitions(${name} PRIVATE BT_LINKED)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/sdk/include ${folder})
  target_link_libraries(${name} PRIVATE baton_flags)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(library baton baton_kernel)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${name}>)
  endforeach()
  baton_c_string("${seed}" seed)
  set(files "")
  file(GLOB texts CONFIGURE_DEPENDS ${folder}/pipelines/*.json ${folder}/libraries/*.baton)
  foreach(file ${texts})
    get_filename_component(base ${file} NAME)
    file(READ ${file} text)
    baton_c_string("${text}" text)
    string(APPEND files "    { \"${name}/${base}\",\n    ${text} },\n")
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY BATON_LINKED_TEXT "extern const bt_plugin bt_plugin_${prefix};
static const bt__linked_file files_${prefix}[] = {\n${files}    { 0 },\n};\n")
  set_property(GLOBAL APPEND_STRING PROPERTY BATON_LINKED_ROWS
    "    { &bt_plugin_${prefix},\n    ${seed},\n    files_${prefix} },\n")
endfunction()

# The list of what is linked in, once all plugins are known.
function(baton_finish_linked)
  if(NOT BATON_STATIC_PLUGINS)
    return()
  endif()
  get_property(text GLOBAL PROPERTY BATON_LINKED_TEXT)
  get_property(rows GLOBAL PROPERTY BATON_LINKED_ROWS)
  set(generated ${CMAKE_BINARY_DIR}/generated/linked.c)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT "/* Written by the build: the plugins linked into libbaton. */
#include \"plugin/linked.h\"

${text}
const bt__linked bt__linked_plugins[] = {
${rows}    { 0 },
};
")
  add_library(baton_linked OBJECT ${generated})
  target_include_directories(baton_linked PRIVATE ${CMAKE_SOURCE_DIR}/sdk/include ${CMAKE_SOURCE_DIR}/kernel)
  target_link_libraries(baton_linked PRIVATE baton_flags)
  target_compile_options(baton_linked PRIVATE -Wno-overlength-strings)
  set_target_properties(baton_linked PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(library baton baton_kernel)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:baton_linked>)
  endforeach()
endfunction()

# All plugins below the given folders of Baton's tree; one with a CMakeLists.txt adds itself.
function(baton_add_plugins)
  foreach(root ${ARGV})
    file(GLOB_RECURSE seeds CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/plugin.json)
    foreach(seed ${seeds})
      get_filename_component(folder ${seed} DIRECTORY)
      if(EXISTS ${folder}/CMakeLists.txt)
        add_subdirectory(${folder})
      else()
        baton_add_plugin(${folder})
      endif()
    endforeach()
  endforeach()
  baton_finish_linked()
endfunction()
