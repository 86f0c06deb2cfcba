/*
 * For authors of operators that ONNX models use: how a node of a model becomes calls of
 * Baton's operators. The importer takes such rows from every plugin, its own among them.
 *
 *     static void twice(bt_onnx_node *n)
 *     {
 *         const bt_value *x = n->tools->input(n, 0), *both[2] = { x, x };
 *         n->tools->give(n, 0, n->tools->call(n, "add", NULL, 2, both));
 *     }
 *     static const bt_onnx_operator operators[] = {
 *         { .name = "com.example.Swish-1", .arg = "example.swish" },
 *         { .name = "com.example.Twice-1", .convert = twice },
 *         { 0 },
 *     };
 *     const bt_table bt_swish_onnx[] = { BT_ONNX_OPERATORS(operators), { 0 } };
 */
#ifndef BATON_ONNX_H
#define BATON_ONNX_H

#include <baton/ir.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_onnx_node bt_onnx_node;

typedef struct bt_onnx_operator {
    /* DOMAIN.OPERATOR-VERSION, the standard's own domain as ai.onnx: "ai.onnx.Pad-11".
     * For operator sets from that version to before the next row of that operator, in
     * whichever plugin. It is taken before a function of that name in the model. */
    const char *name;
    /* optional: gives the node's outputs. NULL: the operator `arg` is called with the
     * node's inputs in order, and with its attributes, which have the same names */
    void (*convert)(bt_onnx_node *);
    const char *arg; /* without convert: Baton's operator; else whatever convert reads */
} bt_onnx_operator;
#define BT_ONNX_INTERFACE "onnx.operator/1"
#define BT_ONNX_OPERATORS(array)                             \
    {                                                        \
        BT_ONNX_INTERFACE, sizeof(bt_onnx_operator), (array) \
    }

/* What a conversion may ask and build. After the first failure everything gives NULL, 0 or
 * "" and builds nothing, so that a conversion need not look after each step. */
typedef struct bt_onnx_tools {
    uint32_t nbytes; /* sizeof(bt_onnx_tools) of the importer */
    /* An input; NULL: it is left out. */
    const bt_value *(*input)(bt_onnx_node *, uint32_t index);
    /* Attributes; `absent` where one is left out. A list of ints is text, "[1, 2]". */
    int (*has)(const bt_onnx_node *, const char *name);
    int64_t (*get_int)(bt_onnx_node *, const char *name, int64_t absent);
    double (*get_float)(bt_onnx_node *, const char *name, double absent);
    const char *(*get_text)(bt_onnx_node *, const char *name, const char *absent);
    const char *(*get_ints)(bt_onnx_node *, const char *name, const char *absent);
    /* A call; `attrs` as in a program, "axis=1, keepdims=True"; NULL: defaults. What
     * follows from small constants alone is a constant at once, but for tensors of floats:
     * training learns what they are made of. */
    const bt_value *(*call)(bt_onnx_node *, const char *op, const char *attrs,
                            uint32_t narg, const bt_value *const *args);
    const bt_value *(*tuple)(bt_onnx_node *, uint32_t n, const bt_value *const *fields);
    const bt_value *(*field)(bt_onnx_node *, const bt_value *tuple, uint32_t index);
    const bt_value *(*constant)(bt_onnx_node *, bt_tensor *); /* takes the reference */
    /* A scalar of another value's element type. */
    const bt_value *(*number)(bt_onnx_node *, const bt_value *like, double);
    /* Text that lives as long as the import, for attributes. */
    const char *(*format)(bt_onnx_node *, const char *format, ...)BT_PRINTF(2, 3);
    void (*give)(bt_onnx_node *, uint32_t output, const bt_value *);
    void (*fail)(bt_onnx_node *, uint32_t code, const char *format, ...) BT_PRINTF(3, 4);
} bt_onnx_tools;

struct bt_onnx_node {
    const bt_onnx_tools *tools;
    bt_ctx *ctx;
    const bt_onnx_operator *row;
    int64_t opset; /* the version of the domain's operator set that the model uses */
    uint32_t ninput, noutput;
    bt_status status;              /* of the first failure */
    struct onnx_import *im;        /* the importer's own */
    const struct onnx_node *proto; /* likewise */
};

/* Writes models as ONNX files: a row of an interface, which applications find by name
 * (bt_registry_row(ctx, BT_ONNX_WRITER, "onnx", sizeof(*writer), &row)). */
typedef struct bt_onnx_writer {
    const char *name; /* "onnx" */
    const char *doc;
    /* The module is typed. A dim that is open has a name in the file.
     * entry   NULL: main, or the only function
     * errors  BT_ERR_UNSUPPORTED at the call or value that ONNX has not; BT_ERR_IO */
    bt_status (*write)(bt_ctx *, const bt_module *, const char *entry, const char *path);
} bt_onnx_writer;
#define BT_ONNX_WRITER "onnx.writer/1"
#define BT_ONNX_WRITERS(array)                          \
    {                                                   \
        BT_ONNX_WRITER, sizeof(bt_onnx_writer), (array) \
    }

/* An operator that the writer writes: what `baton list exports` shows. */
typedef struct bt_onnx_written {
    const char *name; /* of Baton: "nn.dense" */
    const char *onnx; /* what it becomes: "Gemm" */
} bt_onnx_written;
#define BT_ONNX_WRITTEN "onnx.written/1"
#define BT_ONNX_WRITTEN_OPERATORS(array)                  \
    {                                                     \
        BT_ONNX_WRITTEN, sizeof(bt_onnx_written), (array) \
    }

#ifdef __cplusplus
}
#endif
#endif
