# For the scripts beside this one: ${PREFIX} is what prefix.cmake installed, ${BATON} the program there, ${WORK} an empty folder and
# ${flags} what pkg-config says a C compiler needs. Any step that fails, or prints what is not expected, fails the test.
function(run what expected)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${what} failed:\n${out}\n${err}")
  endif()
  if(NOT "${out}" MATCHES "${expected}")
    message(FATAL_ERROR "${what}: expected \"${expected}\" in:\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/home)
set(ENV{HOME} ${WORK}/home)
unset(ENV{XDG_DATA_HOME})
unset(ENV{BATON_PLUGIN_PATH})
unset(ENV{BATON_PLUGIN_ONLY})
set(BATON ${PREFIX}/${BINDIR}/baton)

set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs baton OUTPUT_VARIABLE flags RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "pkg-config does not know baton")
endif()
separate_arguments(flags)

# Configures and builds the folder `from` in the folder `to`.
function(build from to)
  run("configuring" "" ${CMAKE_COMMAND} -S ${from} -B ${to} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${PREFIX})
  run("building" "" ${CMAKE_COMMAND} --build ${to})
endfunction()
