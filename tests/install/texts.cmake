# What `baton plugin new` writes as texts, of which nothing is built.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
foreach(kind loss optimizer schedule initializer)
  file(REMOVE_RECURSE ${WORK}/text)
  run("baton plugin new ${kind}" "README.md" ${BATON} plugin new ${kind} example.my_${kind} ${WORK}/text)
  set(ENV{BATON_PLUGIN_PATH} ${WORK}/text)
  run("baton plugin check of a ${kind}" "  ok +library my_${kind}" ${BATON} plugin check org.example.my_${kind})
  run("the test of a ${kind}" "" ${BATON} filecheck ${WORK}/text/test.baton)
endforeach()

# A name that CMake has for itself is refused, with a reason, before anything is written.
foreach(name all clean help install test package)
  execute_process(COMMAND ${BATON} plugin new pass ${name} ${WORK}/reserved RESULT_VARIABLE failed ERROR_VARIABLE err)
  if(NOT failed OR NOT err MATCHES "cannot be called ${name}: CMake has a target" OR EXISTS ${WORK}/reserved)
    message(FATAL_ERROR "a plugin ${name}: ${err}")
  endif()
endforeach()
