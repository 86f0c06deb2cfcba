# The example of ways to compute that a plugin brings to target cpu.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
build(${PREFIX}/share/doc/baton/examples/ways ${WORK}/ways)
set(ENV{BATON_PLUGIN_PATH} ${WORK}/ways)
run("baton plugin check" "its tables agree with its manifest" ${BATON} plugin check org.example.ways)
file(WRITE ${WORK}/pool.baton "#[version = \"baton 0.1\"]\n"
  "def @main(%x: Tensor[(1, 3, 40, 30), float32]) { nn.avg_pool2d(%x, pool_size=[9, 9]) }\n")
run("its way" "way of example.separable +[0-9.]+ ms  taken" ${BATON} info ${WORK}/pool.baton --target cpu --why)
run("kernels by its way" "way of example.separable.*0 wrong" ${BATON} run ${WORK}/pool.baton --target cpu -i x=random:1 --check-kernels)
