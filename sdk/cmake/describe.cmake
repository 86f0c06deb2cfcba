# Writes a plugin's manifest: cmake -DTOOL= -DPLUGIN= -DSEED= -DBINARY= -DOUT= -P describe.cmake
# The old one goes first: it would speak of another shared object.
file(REMOVE ${OUT})
execute_process(COMMAND ${TOOL} plugin describe ${PLUGIN} --seed ${SEED} --binary ${BINARY}
  OUTPUT_FILE ${OUT}.new RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${OUT}.new)
  message(FATAL_ERROR "no manifest for ${PLUGIN}: see above")
endif()
file(RENAME ${OUT}.new ${OUT})
