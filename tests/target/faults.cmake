# Targets that are wrong in one way each, and what `baton plugin check` says of them: the template with memory of its own, changed in
# one place. All are of one plugin, org.example.faults.
file(READ ${template}/NAME.c right)
string(REGEX REPLACE "@host@[^\n]*\n" "" right "${right}")
string(REPLACE "@own@" "" right "${right}")
set(plugin faults)
set(id org.example.faults)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/faults)
configure_file(${CMAKE_SOURCE_DIR}/sdk/template/common/plugin.json ${folder}/plugin.json @ONLY)

# `from`, which stands in the template once, becomes `to`. The check ends with `code`.
set(code 1)
function(add_fault name says from to)
  string(FIND "${right}" "${from}" first)
  string(FIND "${right}" "${from}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "tests/target: fault ${name} is to change what stands in the template once: ${from}")
  endif()
  string(REPLACE "${from}" "${to}" text "${right}")
  set(ident ${name})
  file(CONFIGURE OUTPUT ${folder}/${name}.c CONTENT "${text}" @ONLY)
  add_test(NAME target.fault.${name} COMMAND ${CMAKE_COMMAND} -DBATON=$<TARGET_FILE:baton_program> -DPLUGIN=${id} -DTARGET=${name} -DCODE=${code}
    "-DSAYS=${says}" -P ${CMAKE_CURRENT_SOURCE_DIR}/fault.cmake)
  set_tests_properties(target.fault.${name} PROPERTIES ENVIRONMENT BATON_PLUGIN_PATH=${CMAKE_BINARY_DIR}/tests/faults)
endfunction()

# ---- sizes: right for few elements, wrong beyond a tile ----
set(sums "for (int64_t k = 0; k < d->k; k++)")
set(columns "for (int64_t j = 0; j < d->n; j++) {")
add_fault(rest_of_4 "FAILED  kernels:" "${sums}" "for (int64_t k = 0; k < (d->k > 4 ? d->k / 4 * 4 : d->k); k++)")
add_fault(rest_of_16 "FAILED  kernels:" "${sums}" "for (int64_t k = 0; k < (d->k > 16 ? d->k / 16 * 16 : d->k); k++)")
add_fault(rows_of_8 "is not written" "for (int64_t i = 0; i < d->m; i++) {" "for (int64_t i = 0; i < (d->m > 8 ? d->m / 8 * 8 : d->m); i++) {")
add_fault(columns_64 "is not written" "${columns}" "for (int64_t j = 0; j < (d->n > 64 ? 64 : d->n); j++) {")
add_fault(columns_1024 "FAILED  calls: nn.dense: " "${columns}" "for (int64_t j = 0; j < (d->n > 1024 ? 1024 : d->n); j++) {")
add_fault(silent_launch "FAILED  kernels:" "    return put(ctx, &c, value);
}

static bt_status enqueue_copy(" "    if (c.layer->n > 20) {
        *value = ((struct queue *)order->queue)->given;
        return NULL;
    }
    return put(ctx, &c, value);
}

static bt_status enqueue_copy(")

# ---- what does not compute at all ----
add_fault(no_compiler "FAILED  code: no kernel was made of what `supports` takes: `compile` of @" "        struct layer *layer = BT_NEW(arena, struct layer); /*"
  "        if (n)
            return bt_fail(ctx, BT_ERR_UNSUPPORTED, \"no compiler today\");
        struct layer *layer = BT_NEW(arena, struct layer); /*")
add_fault(refuses_later "FAILED  code: no kernel was made of what `supports` takes: `lower` of @" "    BT_TRY(read_layer(ctx, func, layer));"
  "    BT_TRY(read_layer(ctx, func, layer));
    BT_TRY(refuse(ctx, \"not today\"));")
add_fault(refuses_all "it computes nothing of all that was tried" "    return read_layer(ctx, func, &layer);"
  "    BT_TRY(read_layer(ctx, func, &layer));\n    return refuse(ctx, \"it takes nothing\");")
add_fault(claims_all "FAILED  code: no kernel was made of what `supports` takes: `lower` of @" "    return read_layer(ctx, func, &layer);"
  "    (void)layer;
    return ctx && func ? NULL : bt_no_memory();")
set(code 0)
add_fault(claims_more "            `supports` takes " "    return read_layer(ctx, func, &layer);"
  "    return bt_tensor_dtype(func->result) == BT_FLOAT64 ? NULL : read_layer(ctx, func, &layer);")
set(code 1)

# ---- kernels and copies that are wrong, named before what is built on them ----
add_fault(last_element "is not written" "${columns}" "for (int64_t j = 0; j < d->n - (i == d->m - 1); j++) {")
add_fault(copies_less "FAILED  memory: a copy of 16384 bytes" ".nbytes = to->nbytes, .order" ".nbytes = to->nbytes > 16 ? to->nbytes - 4 : to->nbytes, .order")
add_fault(copies_later "FAILED  memory: `wait` returns before a copy is done" "    while (q->done < value)" "    while (q->done + 1 < value)")
add_fault(counts_buffers "FAILED  kernels:" ".nin = layer->has_bias ? 3 : 2," ".nin = 3,")

# ---- what sessions share ----
add_fault(shared_sum "FAILED  sessions: sessions in 8 threads at once: " "            double sum = 0;" "            static volatile double sum;
            sum = 0;")

# ---- what fails: by its name, and not as if somebody had stopped it ----
add_fault(fails "kernel fails_nn_dense_add_nn_relu fails: a command has failed" "    return 1;
}" "    return d->m != 9;
}")

# ---- what goes before the code does, and what is not there ----
add_fault(code_of_lower "FAILED  code: the code of a kernel is what `lower` has allocated" "*out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES, .at = layer,"
  "*out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES, .at = kernels[i]->content,")
add_fault(loads_nothing "FAILED  code: `load` has no error and gives nothing" "    *out = l;" "    (void)out;")
add_fault(gives_no_block "FAILED  memory: `alloc` of " "    *out = block;" "    (void)out;")

# ---- what a caller relies on ----
add_fault(loads_any "FAILED  code: `load` takes code of 0 bytes" "        if (codes[i]->nbytes != sizeof(struct layer))" "        if (!codes[i]->at)")
add_fault(loses_nan "FAILED  kernels:" "d->has_relu && value < 0 ? 0 : value" "d->has_relu && !(value > 0) ? 0 : value")
add_fault(frees_less "is given back by bt_free as one of " "    bt_free(l->registry, l, l->nbytes);" "    bt_free(l->registry, l, l->nbytes - 8);")
add_fault(waits_for_one "FAILED  queues: a command that waits for two events" "i < c->order.nwait; i++)
        ok = " "i < c->order.nwait && i < 1; i++)
        ok = ")
add_fault(costs_less "`cost` is -1e+09 ns with confidence 1" "static const bt_target targets[] = {
    {" "static bt_status cost(bt_ctx *ctx, void *self, const bt_func *func, bt_cost *out)
{
    (void)self;
    *out = (bt_cost){ .ns = -1e9, .confidence = 1 };
    return ctx && func ? NULL : bt_no_memory();
}

static const bt_target targets[] = {
    {
        .cost = cost,")
set(BATON_PLUGIN_OUTPUT ${CMAKE_BINARY_DIR}/tests/faults)
baton_add_plugin(${folder} NAME faults)
