# The program finds its library and its plugins from where it stands; a plugin and a program are built by CMake and by pkg-config.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
run("baton plugin list" "baton.ops.tensor +[0-9.]+ +found +${PREFIX}/${LIBDIR}/baton/plugins/" ${BATON} plugin list)
run("baton plugin check" "its tables agree with its manifest" ${BATON} plugin check baton.passes)

# By CMake.
build(${HERE}/project ${WORK}/build)
set(ENV{BATON_PLUGIN_PATH} ${WORK}/build)
run("the program" "org.example.outside 1.2.3: Twice the input.*= outside.double.%x." ${WORK}/build/program)
run("baton plugin check" "its tables agree" ${BATON} plugin check org.example.outside)
run("a library" "output: int32\n  14" ${BATON} run ${HERE}/project/sums.baton)
run("baton plugin check" "ok +library outside_sums" ${BATON} plugin check org.example.texts)
run("baton plugin why" "org.example.outside is used" ${BATON} plugin why outside-idle)
if(EXISTS ${WORK}/build/outside_cpp.so)
  run("a plugin in C++" "ok      float32.2. = .1, 2. . factor=3 -> .3, 6." ${BATON} plugin check org.example.cpp)
  run("its pass" "every pass is known" ${BATON} pipeline check outside-cpp)
elseif("$ENV{CI}" STREQUAL "true")
  message(FATAL_ERROR "no C++ compiler")
endif()

# Installed beside Baton, it needs no path.
unset(ENV{BATON_PLUGIN_PATH})
run("installing a plugin" "outside.baton.json" ${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/second)
file(COPY ${PREFIX}/ DESTINATION ${WORK}/second)
run("an installed plugin" "org.example.outside is used" ${WORK}/second/${BINDIR}/baton plugin why outside-idle)
run("an installed plugin" "its tables agree" ${WORK}/second/${BINDIR}/baton plugin check org.example.outside)
file(REMOVE_RECURSE ${WORK}/second)
unset(ENV{BATON_PLUGIN_PATH})
file(MAKE_DIRECTORY ${WORK}/home/.local/share/baton)
file(RENAME ${WORK}/build ${WORK}/home/.local/share/baton/plugins)
run("the user's folder" "org.example.outside" ${BATON} plugin list)

# By pkg-config.
run("compiling" "" ${CC} ${HERE}/project/program.c -o ${WORK}/program ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR})
run("the program" "org.example.outside 1.2.3" ${WORK}/program)
