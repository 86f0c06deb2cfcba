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

/* What the kernels of a primitive function share. */
struct ocl_maker {
    bt_ctx *ctx;
    bt_arena *arena;
    const ocl_device *device;
    const bt_func *primitive;
    bt_graph *graph;
    bt_vec(ocl_launch) launches;
    ocl_faults faults;
    const bt_node **temps; /* of arrays: where they are in the workspace, by number, in bytes */
    const bt_node *nbytes; /* of the workspace */
};

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
    const char **instead; /* of buffers: what is read of them; NULL: their elements */
    int has_fault;
    ocl_args numbers; /* n0 ... */
    bt_status status; /* the first failure but for memory */
};
enum { OCL_READ = 1, OCL_WRITTEN = 2, OCL_INDENT = 4 };

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
void ocl_block(struct ocl_writer *, const bt_stmts *);
void ocl_stmt(struct ocl_writer *, const bt_stmt *);
/* "int i3 = 0": the type of a variable for an index. */
const char *ocl_index_type(const bt_node *extent);
/* Variables of the locals that the text has. */
void ocl_locals(struct ocl_writer *, bt_text *to);
/* Takes a value, which lies in variable `v` (and its position in `q`), into accumulators, which are
 * these words. */
void ocl_take(struct ocl_writer *, const bt_stmt *, const char *acc, const char *acc2);

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
