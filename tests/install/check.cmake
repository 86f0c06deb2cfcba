# See CMakeLists.txt. Any step that fails, or prints what is not expected, fails the test.
set(PREFIX ${WORK}/moved)

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
run("installing" "" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix ${PREFIX})
file(MAKE_DIRECTORY ${WORK}/home)
set(ENV{HOME} ${WORK}/home)
unset(ENV{XDG_DATA_HOME})
unset(ENV{BATON_PLUGIN_PATH})
unset(ENV{BATON_PLUGIN_ONLY})

# The program finds its library and its plugins from where it stands.
set(BATON ${PREFIX}/${BINDIR}/baton)
run("baton plugin list" "baton.ops.tensor +[0-9.]+ +found +${PREFIX}/${LIBDIR}/baton/plugins/" ${BATON} plugin list)
run("baton plugin check" "its tables agree with its manifest" ${BATON} plugin check baton.passes)

# By CMake.
run("configuring" "" ${CMAKE_COMMAND} -S ${HERE}/project -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_PREFIX_PATH=${PREFIX})
run("building" "" ${CMAKE_COMMAND} --build ${WORK}/build)
set(ENV{BATON_PLUGIN_PATH} ${WORK}/build)
run("the program" "org.example.outside 1.2.3: Twice the input.*= outside.double.%x." ${WORK}/build/program)
run("baton plugin check" "its tables agree" ${BATON} plugin check org.example.outside)
run("baton plugin why" "org.example.outside is used" ${BATON} plugin why outside-idle)
unset(ENV{BATON_PLUGIN_PATH})
file(MAKE_DIRECTORY ${WORK}/home/.local/share/baton)
file(RENAME ${WORK}/build ${WORK}/home/.local/share/baton/plugins)
run("the user's folder" "org.example.outside" ${BATON} plugin list)

# By pkg-config.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs baton OUTPUT_VARIABLE flags RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "pkg-config does not know baton")
endif()
separate_arguments(flags)
run("compiling" "" ${CC} ${HERE}/project/program.c -o ${WORK}/program ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR})
run("the program" "org.example.outside 1.2.3" ${WORK}/program)

# What `baton plugin new` writes builds as it stands, by CMake and by make, and does what its test says.
foreach(kind op relation pass)
  file(REMOVE_RECURSE ${WORK}/new)
  run("baton plugin new ${kind}" "README.md" ${BATON} plugin new ${kind} example.my_${kind} ${WORK}/new)
  run("configuring" "" ${CMAKE_COMMAND} -S ${WORK}/new -B ${WORK}/new/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_PREFIX_PATH=${PREFIX})
  run("building" "" ${CMAKE_COMMAND} --build ${WORK}/new/build)
  set(ENV{BATON_PLUGIN_PATH} ${WORK}/new/build)
  set(checked "its tables agree")
  if(NOT kind STREQUAL pass)
    set(checked "its tables agree.*  ok .*1 operators, 0 with faults")
  endif()
  run("baton plugin check" "${checked}" ${BATON} plugin check org.example.my_${kind})
  run("the ${kind}'s test, by CMake" "" ${BATON} filecheck ${WORK}/new/test.baton)
  file(REMOVE_RECURSE ${WORK}/new/build)
  set(ENV{BATON_PLUGIN_PATH} ${WORK}/new)
  run("make" "" ${CMAKE_COMMAND} -E env PATH=${PREFIX}/${BINDIR}:$ENV{PATH} make -C ${WORK}/new CC=${CC})
  run("the ${kind}'s test, by make" "" ${BATON} filecheck ${WORK}/new/test.baton)
endforeach()

# The operator of README.md, in the place of the one that is written.
file(READ ${HERE}/../../README.md readme)
string(REGEX MATCH "```c\n([^`]*bt_ops_example_swish[^`]*)```" found "${readme}")
string(REPLACE "bt_ops_example_swish" "bt_swish_swish" operator "${CMAKE_MATCH_1}")
run("baton plugin new op" "README.md" ${BATON} plugin new op example.swish ${WORK}/swish)
file(WRITE ${WORK}/swish/swish.c "${operator}")
run("configuring" "" ${CMAKE_COMMAND} -S ${WORK}/swish -B ${WORK}/swish/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_PREFIX_PATH=${PREFIX})
run("building" "" ${CMAKE_COMMAND} --build ${WORK}/swish/build)
set(ENV{BATON_PLUGIN_PATH} ${WORK}/swish/build)
run("baton plugin check" "its tables agree" ${BATON} plugin check org.example.swish)
run("README.md's operator" "data times its sigmoid" ${BATON} list ops example.swish)

# As C source, which nothing is installed for but what libbaton itself has: by each compiler that works here.
foreach(compiler tcc cc)
  file(REMOVE_RECURSE ${WORK}/new)
  if(compiler STREQUAL "tcc" AND NOT EXISTS ${PREFIX}/${LIBDIR}/baton/baton-tcc)
    message(STATUS "skipped: no libtcc when Baton was built")
    continue()
  endif()
  run("baton plugin new --source" "README.md" ${BATON} plugin new op example.my_source ${WORK}/new --source)
  file(READ ${WORK}/new/my_source.baton.json manifest)
  string(JSON manifest SET "${manifest}" compiler "\"${compiler}\"")
  file(WRITE ${WORK}/new/my_source.baton.json "${manifest}")
  set(ENV{BATON_PLUGIN_PATH} ${WORK}/new)
  run("baton plugin check" "its tables agree" ${BATON} plugin check org.example.my_source)
  run("the source's test" "" ${BATON} filecheck ${WORK}/new/test.baton)
endforeach()
unset(ENV{BATON_PLUGIN_PATH})

# The example program, one screen of the public API.
run("compiling run.c" "" ${CC} ${HERE}/../../sdk/examples/run.c -o ${WORK}/run ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR})
run("run.c" "output scores: Tensor" ${WORK}/run ${HERE}/../../sdk/examples/digits/digits.baton)
