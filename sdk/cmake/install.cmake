# What `cmake --install` puts where. Plugins add themselves (plugins.cmake).
include(CMakePackageConfigHelpers)
set(BATON_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/baton)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/sdk/include/baton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(TARGETS baton EXPORT baton-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(baton PROPERTIES EXPORT_NAME baton)
target_include_directories(baton INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(TARGET baton_program)
  install(TARGETS baton_program EXPORT baton-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_target_properties(baton_program PROPERTIES EXPORT_NAME program)
endif()
install(EXPORT baton-targets NAMESPACE baton:: DESTINATION ${BATON_PACKAGE_FOLDER})

configure_package_config_file(${CMAKE_SOURCE_DIR}/sdk/cmake/baton-config.cmake.in
  ${CMAKE_BINARY_DIR}/generated/baton-config.cmake INSTALL_DESTINATION ${BATON_PACKAGE_FOLDER})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/baton-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/baton-config.cmake
  ${CMAKE_BINARY_DIR}/generated/baton-config-version.cmake
  ${CMAKE_SOURCE_DIR}/sdk/cmake/plugins.cmake ${CMAKE_SOURCE_DIR}/sdk/cmake/describe.cmake
  ${CMAKE_SOURCE_DIR}/sdk/cmake/tables.cmake
  ${CMAKE_SOURCE_DIR}/sdk/cmake/plugin.c.in
  DESTINATION ${BATON_PACKAGE_FOLDER})

install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/SECURITY.md ${CMAKE_SOURCE_DIR}/sdk/authors.md ${CMAKE_SOURCE_DIR}/kernel/compute/formula/notation.md
  ${CMAKE_SOURCE_DIR}/kernel/text/grammar.md ${CMAKE_SOURCE_DIR}/kernel/plugin/manifest.md
  ${CMAKE_SOURCE_DIR}/kernel/pass/pipeline.md ${CMAKE_SOURCE_DIR}/passes/rules.md ${CMAKE_SOURCE_DIR}/targets/cpu/bits.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baton)
foreach(executor vm aot)
  install(FILES ${CMAKE_SOURCE_DIR}/plugins/${executor}/README.md RENAME ${executor}.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baton)
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sdk/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baton)
# What pages point to of Baton's own files. Targets get the names of tables that a plugin `far` outside the tree has.
install(FILES ${CMAKE_SOURCE_DIR}/ops/nn/relu.c ${CMAKE_SOURCE_DIR}/ops/tensor/gather.c DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baton/examples/ops)
foreach(from compile/targets/far.c compile/targets/late.c compile/targets/away.h tools/device/device.c)
  get_filename_component(file ${from} NAME)
  set(from ${CMAKE_SOURCE_DIR}/tests/${from})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from})
  file(READ ${from} text)
  string(REGEX REPLACE "bt_tests_(compile_targets|tools_device)_" "bt_far_" text "${text}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/examples/${file} CONTENT "${text}" @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/examples/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/baton/examples/targets)
endforeach()

# Relative to itself, so that the prefix can be moved.
file(RELATIVE_PATH BATON_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/sdk/cmake/baton.pc.in ${CMAKE_BINARY_DIR}/generated/baton.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/baton.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
