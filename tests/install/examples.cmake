# The example programs, the public API on a screen each.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
run("compiling run.c" "" ${CC} ${HERE}/../../sdk/examples/run.c -o ${WORK}/run ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR})
run("run.c" "output scores: Tensor" ${WORK}/run ${HERE}/../../sdk/examples/digits/digits.baton)
file(WRITE ${WORK}/open.baton
  "#[version = \"baton 0.1\"]\ndef @main<n: Dim in 4..9>(%x: Tensor[(n, 2), float32]) { exp(%x) }\n")
run("run.c, a size of a dim" "output output: Tensor" ${WORK}/run ${WORK}/open.baton 5)
run("compiling threads.c" "" ${CC} ${HERE}/../../sdk/examples/threads.c -o ${WORK}/threads ${flags} -lpthread -Wl,-rpath,${PREFIX}/${LIBDIR})
run("baton compile" "" ${BATON} compile ${HERE}/../../sdk/examples/digits/digits.baton -o ${WORK}/digits.bta)
run("threads.c" "thread 1: 100 runs" ${WORK}/threads ${WORK}/digits.bta)
run("baton compile, an open dim" "" ${BATON} compile ${WORK}/open.baton -o ${WORK}/open.bta)
run("threads.c, a size of a dim" "thread 1: 100 runs, inputs 0.5: the outputs' sum is 16.48" ${WORK}/threads ${WORK}/open.bta 5)
run("compiling budget.c" "" ${CC} ${HERE}/../../sdk/examples/budget.c -o ${WORK}/budget ${flags} -Wl,-rpath,${PREFIX}/${LIBDIR})
file(WRITE ${WORK}/grows.baton "#[version = \"baton 0.1\"]\n"
  "def @main<n: Dim>(%x: Tensor[(n), float32]) { exp(expand_dims(%x, axis=0) * expand_dims(%x, axis=1)) }\n")
run("baton compile, a result that grows" "" ${BATON} compile ${WORK}/grows.baton -o ${WORK}/grows.bta)
set(outcome "no memory for a tensor of 4000000 bytes")
run("budget.c, too little" "budget: ${outcome}\na run without: ok" ${WORK}/budget ${WORK}/grows.bta 1000000 1000)
run("budget.c, enough" "budget: ok\na run without: ok" ${WORK}/budget ${WORK}/grows.bta 100000000 1000)
