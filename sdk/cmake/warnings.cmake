# Flags for every C file of the project; baton_flags is linked by each target.
add_library(baton_flags INTERFACE)
target_compile_options(baton_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum -Wcast-qual
  -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wimplicit-fallthrough
  -fno-common -fvisibility=hidden -ffp-contract=off)
if(CMAKE_C_COMPILER_ID MATCHES Clang) # it warns of loops that stay scalar, as those of pow do
  target_compile_options(baton_flags INTERFACE -Wno-pass-failed)
endif()
if(BATON_WERROR)
  target_compile_options(baton_flags INTERFACE -Werror)
endif()
if(BATON_SANITIZE)
  target_compile_options(baton_flags INTERFACE -fsanitize=${BATON_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(baton_flags INTERFACE -fsanitize=${BATON_SANITIZE})
endif()
