# A target with one fault: the check of its plugin fails, names the step and says what is wrong.
#   BATON, PLUGIN, TARGET   who is checked
#   CODE                    the exit status of the check
#   SAYS                    text that stands in a line behind FAILED or below it
execute_process(COMMAND ${BATON} plugin check ${PLUGIN} --target ${TARGET} --timeout 20 OUTPUT_VARIABLE said ERROR_VARIABLE told RESULT_VARIABLE code)
string(APPEND said "${told}")
if(NOT code EQUAL ${CODE})
  message(FATAL_ERROR "expected an exit status of ${CODE}, it is ${code}:\n${said}")
endif()
string(FIND "${said}" "${SAYS}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "\"${SAYS}\" is not said:\n${said}")
endif()
