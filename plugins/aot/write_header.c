/* NAME.h: the entry as who calls it sees it. */
#include "write.h"

#include <inttypes.h>

#include <baton/op.h>

#include "expr.h"

int is_open(const struct output *o)
{
    return o->plan->entry->func->nvar > 0;
}

/* "[n, 3]" */
static bt_status add_shape(struct plan *p, const bt_type *type, bt_text *out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    bt_text_addf(out, "[");
    for (uint32_t i = 0; i < shape->n; i++) {
        int64_t number;
        bt_text_addf(out, "%s", i ? ", " : "");
        if (bt_dim_is_const(shape->dims[i], &number))
            bt_text_addf(out, "%" PRId64, number);
        else
            BT_TRY(plan_dim_text(p, shape->dims[i], out));
    }
    bt_text_addf(out, "]");
    return NULL;
}

void add_dim_params(const struct output *o, bt_text *out)
{
    for (uint32_t i = 0; i < o->plan->entry->func->nvar; i++)
        bt_text_addf(out, "%sint64_t %s", i ? ", " : "", o->plan->dims[i]);
}

void call_workspace(const struct plan *p, bt_text *out)
{
    bt_text_addf(out, "%s_workspace(", p->name);
    for (uint32_t i = 0; i < p->entry->func->nvar; i++)
        bt_text_addf(out, "%s%s", i ? ", " : "", p->dims[i]);
    bt_text_addf(out, ")");
}

void add_prototype(const struct output *o, bt_text *out)
{
    const struct plan *p = o->plan;
    bt_text_addf(out, "int32_t %s_run(", p->name);
    if (p->has_values) {
        bt_text_addf(out, "struct %s_machine *machine", p->name);
        for (uint32_t i = 0; i < p->entry->func->nvar; i++)
            bt_text_addf(out, ", int64_t %s", p->dims[i]);
        for (uint32_t i = 0; i < p->narg; i++)
            bt_text_addf(out, ", struct %s_value *%s", p->name, p->args[i].name);
        bt_text_addf(out, ", struct %s_value **%s)", p->name, p->results->name);
        return;
    }
    add_dim_params(o, out);
    const char *between = is_open(o) ? ", " : "";
    for (uint32_t i = 0; i < p->narg; i++, between = ", ")
        bt_text_addf(out, "%sconst %s *%s", between,
                     c_element_type(bt_tensor_dtype(p->args[i].type)), p->args[i].name);
    for (uint32_t i = 0; i < p->nresult; i++, between = ", ")
        bt_text_addf(out, "%s%s *%s", between,
                     c_element_type(bt_tensor_dtype(p->results[i].type)),
                     p->results[i].name);
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(out, "%sconst void *weights, ", between);
    else
        bt_text_addf(out, "%s", between);
    bt_text_addf(out, "void *workspace%s)",
                 p->program ? ", size_t nbytes, uint32_t depth" : "");
}

static bt_status add_leaves(struct plan *p, const char *what, uint32_t n,
                            const struct leaf *leaves, bt_text *out)
{
    for (uint32_t i = 0; i < n; i++) {
        char dtype[BT_DTYPE_NAME_SIZE];
        bt_text_addf(
            out, " * %s %s: %s", what, leaves[i].name,
            bt_dtype_name(bt_tensor_dtype(leaves[i].type), dtype, sizeof(dtype)));
        BT_TRY(add_shape(p, leaves[i].type, out));
        bt_text_addf(out, "\n");
    }
    return NULL;
}

int find_workspace(const struct plan *p, uint64_t *out)
{
    *out = p->program ? p->bound.nbytes : 0;
    if (p->program)
        return p->bound.is_known && p->bound.is_number;
    for (uint32_t i = 0; i < p->blocks.len; i++) {
        int64_t nbytes;
        if (p->blocks.at[i].result)
            continue;
        if (!bt_dim_is_const(p->blocks.at[i].nbytes, &nbytes) ||
            nbytes > INT64_MAX - 64 - (int64_t)*out)
            return 0;
        *out += (uint64_t)(nbytes + 63) / 64 * 64;
    }
    return 1;
}

/* "n: 1 or more, a multiple of 8" */
static void add_dim_ranges(const struct plan *p, bt_text *out)
{
    for (uint32_t i = 0; i < p->entry->func->nvar; i++) {
        const bt_type_param *param = &bt_as_var_type(p->entry->func->vars[i])->param;
        bt_text_addf(out, " * %s: %" PRId64 " or more", p->dims[i], param->low);
        if (param->high < INT64_MAX)
            bt_text_addf(out, ", at most %" PRId64, param->high);
        if (param->step > 1)
            bt_text_addf(out, ", a multiple of %" PRId64, param->step);
        bt_text_addf(out, "\n");
    }
}

/* The entry on arrays. */
static bt_status add_arrays(struct output *o, bt_text *out)
{
    uint64_t workspace;
    struct plan *p = o->plan;
    bt_text text;
    bt_text_init(&text, p->arena);
    bt_text_addf(&text, "/*\n * Row major tensors:\n *\n");
    BT_TRY(add_leaves(p, "in ", p->narg, p->args, &text));
    BT_TRY(add_leaves(p, "out", p->nresult, p->results, &text));
    bt_text_addf(&text, " *\n");
    add_dim_ranges(p, &text);
    if (p->program && p->bound.is_known)
        bt_text_addf(&text,
                     " * The workspace has `nbytes` bytes, and at most `depth` calls are "
                     "in progress at once, each on\n"
                     " * the C stack: %s_%s and %s_DEPTH are enough for every "
                     "run.\n",
                     p->name, has_workspace(p) ? "workspace" : "WORKSPACE", p->name);
    else if (p->program)
        bt_text_addf(&text,
                     " * The workspace has `nbytes` bytes, as many as the run may need: "
                     "what it builds lives there. At\n"
                     " * most `depth` calls are in progress at once, each with some "
                     "hundred bytes of the C stack, which\n"
                     " * is to have them. No numbers are enough for every run: %s.\n",
                     p->bound.why);
    else
        bt_text_addf(&text,
                     " * The workspace has %s_workspace bytes: the run cannot tell a "
                     "shorter one.\n",
                     p->name);
    bt_text_addf(&text,
                 " * It begins at a multiple of 64, and holds nothing "
                 "between calls.\n"
                 " * No output may overlap an input or another output. Calls "
                 "from several\n"
                 " * threads need a workspace each.\n"
                 " * Returns 0, or a fault, of which %s_fault gives the text.\n",
                 p->name);
    if (o->library)
        bt_text_addf(&text,
                     " * Kernels call libbaton_%s.a%s%s; another machine is a fault.\n",
                     o->library, *o->machine ? ", on machines with " : "", o->machine);
    bt_text_addf(&text, " */\n%s_API ", p->name);
    add_prototype(o, &text);
    bt_text_addf(&text, ";\n");
    if (p->bound.is_known)
        bt_text_addf(&text, "#define %s_DEPTH %" PRIu32 "\n", p->name, p->bound.depth);
    if (p->bound.is_known && p->bound.is_number)
        bt_text_addf(&text, "#define %s_WORKSPACE %" PRIu64 "%s\n", p->name,
                     p->bound.nbytes, has_workspace(p) ? " /* with any dims */" : "");
    if (has_workspace(p)) {
        bt_text_addf(&text,
                     "\n/* Bytes; UINT64_MAX: the dims are out of range. */\n"
                     "%s_API uint64_t %s_workspace(",
                     p->name, p->name);
        add_dim_params(o, &text);
        bt_text_addf(&text, "%s);\n", is_open(o) ? "" : "void");
        if (!p->program && find_workspace(p, &workspace))
            bt_text_addf(&text, "#define %s_WORKSPACE %" PRIu64 "\n", p->name, workspace);
    }
    if (!bt_text_get(&text))
        return bt_no_memory();
    bt_text_add(out, text.at, text.len);
    return NULL;
}

static void add_type(struct plan *p, const char *what, const char *name,
                     const bt_type *type, bt_text *out)
{
    bt_text_addf(out, " * %s %s: ", what, name);
    bt_print_type(p->ctx, type, out);
    bt_text_addf(out, "\n");
}

/* A tuple of outputs is one value, whose fields have the outputs' names. */
static bt_status add_outputs(struct plan *p, bt_text *out)
{
    const bt_func *func = p->entry->func;
    const bt_list_type *fields = bt_as_tuple_type(func->result);
    add_type(p, "out", p->results->name, func->result, out);
    for (uint32_t i = 0; fields && i < fields->n; i++) {
        const char *name = bt_output_name(p->arena, func, i);
        const char *word = name ? plan_word(p, name) : NULL;
        if (!word)
            return bt_no_memory();
        bt_text_addf(out, " *     field %" PRIu32 ": %s\n", i, word);
    }
    return NULL;
}

/* The entry on values. */
static bt_status add_values(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    bt_text_addf(out, "/*\n * Values:\n *\n");
    for (uint32_t i = 0; i < p->narg; i++)
        add_type(p, "in ", p->args[i].name, p->args[i].type, out);
    BT_TRY(add_outputs(p, out));
    bt_text_addf(out, " *\n");
    add_dim_ranges(p, out);
    BT_TRY(values_declare(o, out));
    bt_text_addf(out, "%s_API ", p->name);
    add_prototype(o, out);
    bt_text_addf(out, ";\n");
    return NULL;
}

/* What a shared library of the program shows is said to compilers; all else is hidden. */
static void add_api(const char *name, bt_text *out)
{
    bt_text_addf(out,
                 "#if defined(_WIN32) && defined(%s_EXPORTS)\n"
                 "#define %s_API __declspec(dllexport)\n"
                 "#elif defined(__GNUC__) && !defined(_WIN32)\n"
                 "#define %s_API __attribute__((visibility(\"default\")))\n"
                 "#else\n#define %s_API\n#endif\n\n",
                 name, name, name, name);
}

bt_status write_header(struct output *o)
{
    struct plan *p = o->plan;
    bt_text text;
    bt_text_init(&text, p->arena);
    bt_text_addf(&text,
                 "/* Generated by baton compile --executor aot. */\n#ifndef "
                 "AOT_%s_H\n#define AOT_%s_H\n\n",
                 p->name, p->name);
    bt_text_addf(&text, "#include <stddef.h>\n#include <stdint.h>\n\n"
                        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    add_api(p->name, &text);
    BT_TRY(p->has_values ? add_values(o, &text) : add_arrays(o, &text));
    bt_text_addf(&text, "\n%s_API const char *%s_fault(int32_t fault);\n", p->name,
                 p->name);
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(
            &text,
            "\n/* `weights` is the content of %s.weights, mapped or read to a multiple "
            "of 64.\n * Returns 0 where it has the size and the digest that it was "
            "written with. */\n"
            "%s_API int32_t %s_check_weights(const void *weights, size_t nbytes);\n",
            p->name, p->name, p->name);
    bt_text_addf(&text, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return add_file(o, &text, "%s.h", p->name);
}
