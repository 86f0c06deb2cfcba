/*
 * Statements of loops as OpenCL C text, and the parameters that the text turns out to need. Numbers
 * of index arithmetic are parameters too, n0, n1 ..., so that equal loops over other extents are
 * the same kernel.
 */
#ifndef OPENCL_WRITE_H
#define OPENCL_WRITE_H

#include <baton/loops.h>

#include "expr.h"
#include "lower.h"

typedef bt_vec(bt_fault) ocl_faults;
typedef bt_vec(ocl_arg) ocl_args;
typedef bt_vec(ocl_launch) ocl_launches;

/* A temp's place in the workspace, in bytes. `loops`: of those only; NULL: an array of the graph. */
struct ocl_temp {
    const bt_loops *loops;
    uint32_t buffer;
    const bt_node *at;
};

/* A constant in another form: a kernel of its own makes it, which runs when a module is compiled. */
struct ocl_pack {
    int64_t nbytes;
    ocl_launches launches;
};

/* What the kernels of a primitive function share. */
struct ocl_maker {
    bt_ctx *ctx;
    bt_arena *arena;
    const ocl_device *device;
    const bt_func *primitive;
    bt_graph *graph;
    ocl_launches launches;
    ocl_faults faults;
    uint32_t
        narray; /* of the graph when a stage became loops: buffers behind are its own */
    bt_vec(struct ocl_temp) temps;
    const bt_node *nbytes;      /* of the workspace */
    const uint8_t *is_constant; /* of each input: it never changes */
    bt_vec(struct ocl_pack) packs;
};

static inline int ocl_is_constant(const struct ocl_maker *m, uint32_t array)
{
    return array < m->graph->ninput && m->is_constant[array];
}

/* In an argument's index until all kernels are there: input `index` of the function, output
 * OCL_OUTPUT + index, pack OCL_PACK + index. */
enum { OCL_OUTPUT = 1 << 24, OCL_PACK = 1 << 25 };

struct ocl_writer {
    struct ocl_exprs x;
    struct ocl_maker *maker;
    const bt_loops *loops;
    bt_text *out;
    int indent;
    uint32_t ntemp;
    uint32_t size;     /* nodes of the expression that is being written */
    uint16_t *weights; /* of nodes by id, 0: not known; their nodes, but a few */
    uint8_t *touched;  /* of buffers: OCL_READ, OCL_WRITTEN */
    const char **
        instead; /* of buffers: what is read of them, or a local's name; NULL: their own */
    uint32_t *packs; /* of buffers: 1 and more: it is this pack, from 1 */
    int has_fault,
        is_atomic;    /* is_atomic: elements are taken into by several work-items */
    ocl_args numbers; /* n0 ... */
    bt_status status; /* the first failure but for memory */
};
enum { OCL_READ = 1, OCL_WRITTEN = 2, OCL_INDENT = 4 };

/* The loops of a stage alone. */
bt_status ocl_stage_loops(struct ocl_maker *, uint32_t stage, bt_loops **out) BT_MUST_USE;
bt_status ocl_place_temp(struct ocl_maker *, const bt_loops *, uint32_t buffer,
                         const bt_node **out) BT_MUST_USE;

bt_status ocl_writer_init(struct ocl_writer *, struct ocl_maker *, const bt_loops *,
                          bt_text *out) BT_MUST_USE;
/* "    LINE\n", indented. */
void ocl_line(struct ocl_writer *, const char *format, ...) BT_PRINTF(2, 3);
/* As an operand. */
struct ocl_operand ocl_value(struct ocl_writer *, const bt_node *);
/* A text whose outer parentheses go: what follows brings its own. */
const char *ocl_bare(struct ocl_writer *, const char *);
/* A number that is a parameter: its name. */
const char *ocl_parameter(struct ocl_writer *, const bt_node *);
/* The same of a number. */
const char *ocl_int_parameter(struct ocl_writer *, int64_t);
/* Iterations of a loop; a local's name. */
const char *ocl_extent(struct ocl_writer *, const bt_stmt *loop);
const char *ocl_local(const struct ocl_writer *, uint32_t buffer);
void ocl_block(struct ocl_writer *, const bt_stmts *);
void ocl_stmt(struct ocl_writer *, const bt_stmt *);
/* "int i3 = 0": the type of a variable for an index. */
const char *ocl_index_type(const bt_node *extent);
/* Takes a value, which lies in variable `v` (and its position in `q`), into accumulators, which are
 * these words. */
void ocl_take(struct ocl_writer *, const bt_stmt *, const char *acc, const char *acc2);

/* A buffer as an argument; *at: where in the workspace, if it is there. */
bt_status ocl_memory(struct ocl_writer *, uint32_t buffer, const bt_node **at,
                     ocl_arg *out) BT_MUST_USE;
/* The kernel whose body was written: its text and arguments. `extents` of groups: numbers of the
 * loops' graph. */
struct ocl_geometry {
    uint32_t local[3];
    const bt_node *groups[3];
    uint32_t local_nbytes;
};
bt_status ocl_finish(struct ocl_writer *, const bt_text *body,
                     const struct ocl_geometry *) BT_MUST_USE;

#endif
