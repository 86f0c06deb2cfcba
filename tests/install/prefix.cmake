# Installs what was built, and moves it: nothing in an installation knows where it was put first.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.first)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.first OUTPUT_QUIET RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "installing failed")
endif()
file(RENAME ${PREFIX}.first ${PREFIX})
