# cmake -DFROM=folder -DTO=folder -P shorten.cmake: copies the headers, where structs that may grow end before the member named
# here: as they may have been when an older plugin was built.
set(ends
  "bt_target:    double (*peak)"
  "bt_kernel:    uint32_t nalias"
  "bt_kernel_code:    const void *own"
  "bt_target_use:    const bt_space *space"
  "bt_compiled:    bt_arena *arena"
  "bt_compiled_kernel:    uint32_t number"
  "bt_compiled_func:    int64_t multiply_adds"
  "bt_kernel_call:    uint32_t phase, worker"
  "bt_port:    const int64_t *sizes"
  "bt_executor:    bt_status (*call_into)"
  "bt_array:    const bt_node *body"
  "bt_graph_dim:    int64_t low, high"
  "bt_where:    uint32_t ntype"
  "bt_ctor:    uint32_t nfield"
  "bt_clause:    const bt_block *block")
set(left ${ends})
file(GLOB headers ${FROM}/*)
file(MAKE_DIRECTORY ${TO})
foreach(header ${headers})
  get_filename_component(name ${header} NAME)
  file(READ ${header} text)
  foreach(end ${ends})
    string(REGEX MATCH "^([a-z_]+):(.*)$" _ "${end}")
    set(struct ${CMAKE_MATCH_1})
    set(member "${CMAKE_MATCH_2}")
    string(FIND "${text}" "typedef struct ${struct} {" begin)
    if(begin EQUAL -1)
      continue()
    endif()
    string(SUBSTRING "${text}" ${begin} -1 rest)
    string(SUBSTRING "${text}" 0 ${begin} before)
    string(FIND "${rest}" "${member}" from)
    string(FIND "${rest}" "} ${struct};" to)
    if(from EQUAL -1 OR to LESS from)
      message(FATAL_ERROR "${name}: struct ${struct} has no member \"${member}\"")
    endif()
    string(SUBSTRING "${rest}" 0 ${from} kept)
    string(SUBSTRING "${rest}" ${to} -1 behind)
    set(text "${before}${kept}${behind}")
    list(REMOVE_ITEM left "${end}")
  endforeach()
  file(WRITE ${TO}/${name} "${text}")
endforeach()
if(left)
  message(FATAL_ERROR "no header has the structs of ${left}")
endif()
