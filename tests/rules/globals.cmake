# Everything hangs from a context: libraries have no variables of their own.
#     cmake -DOBJDUMP= -DLIBRARIES=<files> -P globals.cmake
# Known: what compilers add, what the system has granted to the process, and objects of which only the address is used.
cmake_policy(VERSION 3.20)
set(KNOWN __dso_handle __TMC_END__ _edata _end __bss_start completed.0 __cpu_model __cpu_features2 amx_is_granted nothing.0)
set(faults "")
foreach(library ${LIBRARIES})
  execute_process(COMMAND ${OBJDUMP} -t ${library} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* \\.(data|bss)\t[^\n]*" symbols "${symbols}")
  foreach(symbol ${symbols})
    string(REGEX REPLACE ".* " "" name "${symbol}")
    string(REGEX REPLACE "^completed\\.[0-9]+$" "completed.0" name ${name})
    if(NOT name MATCHES "^\\.(data|bss)$" AND NOT name IN_LIST KNOWN)
      string(APPEND faults "  ${library}: ${name}\n")
    endif()
  endforeach()
endforeach()
if(faults)
  message(FATAL_ERROR "variables that all contexts share:\n${faults}"
    "keep them in an object that its user creates: a registry, a context, an instance of a target")
endif()
