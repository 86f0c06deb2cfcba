# What some sources of a folder are compiled with. set_property alone takes the names of files that there are not, in silence.
function(baton_set_sources property value)
  foreach(source ${ARGN})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      message(FATAL_ERROR "baton_set_sources(${property} ...): there is no file ${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endif()
    set_property(SOURCE ${source} APPEND PROPERTY ${property} ${value})
  endforeach()
endfunction()
