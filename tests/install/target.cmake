# README.md's way from nothing to a model that runs on a target of one's own; what it shows is what comes out.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
file(READ ${HERE}/../../README.md readme)
string(REGEX MATCH "```sh\n([^`]*plugin new target[^`]*)```\n+```\n([^`]*)```" found "${readme}")
set(commands "${CMAKE_MATCH_1}")
set(shown "${CMAKE_MATCH_2}")
file(CREATE_LINK ${PREFIX} ${WORK}/home/baton SYMBOLIC)
file(MAKE_DIRECTORY ${WORK}/author)
file(WRITE ${WORK}/author/commands "set -e\n${commands}")
execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=${PREFIX}/${BINDIR}:$ENV{PATH} CMAKE_GENERATOR=${GENERATOR} CC=${CC}
    sh commands WORKING_DIRECTORY ${WORK}/author OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE failed)
string(FIND "${out}" "${shown}" at)
if(failed OR shown STREQUAL "" OR at EQUAL -1)
  message(FATAL_ERROR "README.md's target: expected\n${shown}\nin:\n${out}\n${err}")
endif()

# A network with its dense layer on that target and the rest on another gives what interp gives.
set(ENV{BATON_PLUGIN_PATH} ${WORK}/author/edge/build)
set(digits ${HERE}/../../sdk/examples/digits/digits.baton)
run("the share" "edge_nn_dense_add +1 +edge +1 .*cpu" ${BATON} info ${digits} --target edge,cpu)
run("digits by interp" "scores" ${BATON} run ${digits} -i image=random:1 -o ${WORK}/expected)
run("digits by targets" "scores" ${BATON} run ${digits} -i image=random:1 --executor graph --target edge,cpu
  -o ${WORK}/found)
run("comparing" "" ${BATON} compare ${WORK}/expected/scores.npy ${WORK}/found/scores.npy --rtol 1e-6 --atol 1e-7)

# The same from a file that holds the code of both.
run("an artifact" "for target edge, cpu" ${BATON} compile ${digits} --target edge,cpu -o ${WORK}/digits.compiled)
run("digits from it" "scores" ${BATON} run ${WORK}/digits.compiled -i image=random:1 -o ${WORK}/again)
run("comparing" "" ${BATON} compare ${WORK}/found/scores.npy ${WORK}/again/scores.npy --rtol 0 --atol 0)
