# <folder of libbaton>/baton/include: what C text finds by #include when Baton compiles it, the public headers and freestanding
# ones. The build tree links to the sources, so that nothing is stale.
set(BATON_C_INCLUDE ${CMAKE_BINARY_DIR}/lib/baton/include)
file(MAKE_DIRECTORY ${BATON_C_INCLUDE})
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/sdk/include/baton ${BATON_C_INCLUDE}/baton SYMBOLIC)
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sdk/freestanding/*.h)
foreach(header ${headers})
  get_filename_component(name ${header} NAME)
  file(CREATE_LINK ${header} ${BATON_C_INCLUDE}/${name} SYMBOLIC)
endforeach()
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_LIBDIR}/baton/include)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sdk/include/baton DESTINATION ${CMAKE_INSTALL_LIBDIR}/baton/include
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
