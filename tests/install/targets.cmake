# The example of targets with memory of their own and with queues.
include(${CMAKE_CURRENT_LIST_DIR}/kit.cmake)
build(${PREFIX}/share/doc/baton/examples/targets ${WORK}/far)
set(ENV{BATON_PLUGIN_PATH} ${WORK}/far)
run("baton plugin check" "target device: opens.*target far: opens.*target late: opens.*target later: opens" ${BATON} plugin check org.example.far --every 16
  --timeout 600)
run("digits on late" "0 wrong" ${BATON} run ${HERE}/../../sdk/examples/digits/digits.baton -i image=random:1 --target late --check-kernels)
