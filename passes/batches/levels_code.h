/*
 * Code for a function that is computed by levels (levels.h), while it is made.
 */
#ifndef PASSES_BATCHES_LEVELS_CODE_H
#define PASSES_BATCHES_LEVELS_CODE_H

#include "batches/levels.h"
#include "common/chain.h"
#include "common/leaves.h"

enum { MAX_FIELDS = 64 }; /* of the constructor of nodes, and matches that are open */

typedef bt_vec(const bt_type *) levels_types;
typedef leaf_values levels_values;

/* Code under construction. */
struct levels_code {
    struct levels *l;
    bt_builder *b;
    bt_store *store;
    struct chain chain;
    const bt_type *const *terms; /* of the function's dims, where the code stands */
    /* Matches that are open: the rest of the block is inside of them. */
    uint32_t nopen;
    const bt_value *data[MAX_FIELDS];
    const bt_pattern *patterns[MAX_FIELDS];
};

/* ---- levels_code.c ---- */

bt_status levels_push(struct levels_code *, levels_types *out,
                      const bt_type *) BT_MUST_USE;
/* Types of the fields of nodes, in which constructor `ctor` has its table, and behind that what
 * its fields hold, from `levels_table_at` on; and of rows. is_field: of the data type's own
 * fields, else of what a value is taken apart into. */
bt_status levels_node_types(struct levels_code *, int is_field,
                            levels_types *out) BT_MUST_USE;
uint32_t levels_table_at(const struct levels *, uint32_t ctor);
bt_status levels_row_types(struct levels_code *, int is_field,
                           levels_types *out) BT_MUST_USE;
/* What a side of the match takes: arguments besides the data, fields, what is below. */
bt_status levels_side_types(struct levels_code *, const struct levels_ctor *,
                            levels_types *out) BT_MUST_USE;
/* A data type, for the dims of the function. */
const bt_type *levels_instance(struct levels_code *, const bt_adt_def *);

/* Small calls; a value is NULL after a failure, which the chain has. */
const bt_value *levels_int(struct levels_code *, int64_t);
const bt_value *levels_plus(struct levels_code *, const bt_value *, const bt_value *);
bt_status levels_add(struct levels_code *, levels_values *out,
                     const bt_value *) BT_MUST_USE;
/* Tensors one behind the other along axis 0. */
bt_status levels_joined(struct levels_code *, const levels_values *parts,
                        const bt_value **out) BT_MUST_USE;
/* Zeros of a type, of as many rows as `rows` has, NULL: of none. */
bt_status levels_zeros(struct levels_code *, const bt_value *rows, const bt_type *,
                       const bt_value **out) BT_MUST_USE;
bt_status levels_construct(struct levels_code *, const bt_adt_def *,
                           const levels_values *fields, const bt_value **out) BT_MUST_USE;
/* A call of a function with the dims of the function at hand. */
bt_status levels_build_call(struct levels_code *, const char *name,
                            const levels_values *args, const bt_value **out) BT_MUST_USE;

/* Opens a match: what is built next is inside of it, and may use the fields. */
bt_status levels_open_nodes(struct levels_code *, const bt_value *nodes,
                            levels_values *fields) BT_MUST_USE;
bt_status levels_open_rows(struct levels_code *, const bt_value *rows,
                           levels_values *fields) BT_MUST_USE;
/* Ends those that were opened since there were `nopen`; *out: the value of the first. */
bt_status levels_end_matches(struct levels_code *, uint32_t nopen, const bt_value *result,
                             const bt_value **out) BT_MUST_USE;

/* A global with the function's dims as parameters, and its body. */
bt_status levels_declare_func(struct levels_code *, bt_module_builder *, const char *name,
                              const levels_types *args,
                              const bt_type *result) BT_MUST_USE;
bt_status levels_define_func(struct levels_code *, bt_module_builder *, const char *name,
                             const bt_block *) BT_MUST_USE;

/* ---- levels_side.c, levels_number.c, levels_loop.c ---- */

bt_status levels_define_side(struct levels_code *, const struct levels_ctor *,
                             bt_module_builder *) BT_MUST_USE;
bt_status levels_define_number(struct levels_code *, bt_module_builder *) BT_MUST_USE;
bt_status levels_define_forest(struct levels_code *, bt_module_builder *) BT_MUST_USE;
bt_status levels_define_loop(struct levels_code *, bt_module_builder *) BT_MUST_USE;
bt_status levels_loop_types(struct levels_code *, levels_types *out) BT_MUST_USE;
/* Rows of all results, at these positions, as a value like the function's result. */
bt_status levels_rows_at(struct levels_code *, const levels_values *rows,
                         const bt_value *at, const bt_value **out) BT_MUST_USE;
/* What the function gives of a constructor's nodes, those of level k (NULL: all), is put into
 * the rows. shared: the arguments besides the data. */
bt_status levels_step(struct levels_code *, uint32_t which, const levels_values *nodes,
                      const levels_values *shared, const bt_value *k,
                      levels_values *rows) BT_MUST_USE;

#endif
