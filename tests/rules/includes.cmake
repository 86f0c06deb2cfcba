# Who may include what (the arrows of the tree): cmake -DTREE= -P includes.cmake
#
# kernel             <baton/...>, "folder/file.h" of kernel, "file.h" beside it
# plugins            <baton/...>, "file.h" beside it, and from the folder of its plugin.json
# sdk/tools          <baton/...>, "file.h" beside it
# sdk/include        <baton/...>
# everywhere         system headers; never "../", never an absolute path
set(faults "")

# The folder with the plugin.json of what is in a folder.
function(find_plugin folder variable)
  while(NOT EXISTS ${folder}/plugin.json AND NOT folder STREQUAL TREE)
    get_filename_component(folder ${folder} DIRECTORY)
  endwhile()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

function(check_file file root)
  get_filename_component(folder ${file} DIRECTORY)
  file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
  foreach(line ${lines})
    string(REGEX REPLACE ".*\"([^\"]*)\".*" "\\1" name "${line}")
    set(ok FALSE)
    if(NOT name MATCHES "^/|\\.\\./|^\\./")
      if(root STREQUAL "kernel" AND EXISTS ${TREE}/kernel/${name})
        set(ok TRUE)
      elseif(NOT root STREQUAL "sdk/include" AND NOT name MATCHES "/" AND EXISTS ${folder}/${name})
        set(ok TRUE)
      elseif(NOT root MATCHES "^(kernel|sdk/.*)$")
        find_plugin(${folder} plugin)
        if(NOT plugin STREQUAL TREE AND EXISTS ${plugin}/${name})
          set(ok TRUE)
        elseif(plugin STREQUAL "${TREE}/plugins/aot" AND # which has their sources too
               (EXISTS ${TREE}/plugins/vm/${name} OR EXISTS ${TREE}/targets/c/${name}))
          set(ok TRUE)
        elseif(plugin STREQUAL "${TREE}/plugins/interp" AND name MATCHES "^(misfit|clause_matrix).h$") # which has their sources too
          set(ok TRUE)
        endif()
      endif()
    endif()
    if(NOT ok)
      string(APPEND faults "  ${file}: \"${name}\"\n")
    endif()
  endforeach()
  file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*<baton/")
  foreach(line ${lines})
    string(REGEX REPLACE ".*<([^>]*)>.*" "\\1" name "${line}")
    if(NOT EXISTS ${TREE}/sdk/include/${name})
      string(APPEND faults "  ${file}: <${name}>\n")
    endif()
  endforeach()
  set(faults "${faults}" PARENT_SCOPE)
endfunction()

foreach(root kernel ops passes plugins targets sdk/tools sdk/include)
  file(GLOB_RECURSE files ${TREE}/${root}/*.c ${TREE}/${root}/*.h ${TREE}/${root}/*.def)
  foreach(file ${files})
    check_file(${file} ${root})
  endforeach()
endforeach()
if(faults)
  message(FATAL_ERROR "these includes cross the tree's arrows:\n${faults}")
endif()
