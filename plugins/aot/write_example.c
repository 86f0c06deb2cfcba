/* CMakeLists.txt, and main.c: a program that calls the entry. */
#include "write.h"

#include <inttypes.h>
#include <string.h>

#include "dims.h"
#include "expr.h"

static bt_status write_cmake(struct output *o, const char *example)
{
    const char *name = o->plan->name;
    bt_text text;
    bt_text_init(&text, o->plan->arena);
    list_files(o, example, &text);
    bt_text_addf(&text,
                 "cmake_minimum_required(VERSION 3.13)\n"
                 "project(%s C)\n\n"
                 "# A static library, or a shared one with -DBUILD_SHARED_LIBS=ON.\n"
                 "add_library(%s\n  %s.c\n  %s_data.c",
                 name, name, name, name);
    for (uint32_t i = 0; i < count_pieces(o); i++)
        bt_text_addf(&text, "\n  %s_kernels_%" PRIu32 ".c", name, i);
    bt_text_addf(
        &text,
        ")\n"
        "target_include_directories(%s PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
        "set_target_properties(%s PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON\n"
        "  C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)\n"
        "if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\")\n"
        "  # a product and a sum round one after the other: the same bits everywhere\n"
        "  target_compile_options(%s PRIVATE -ffp-contract=off)\n"
        "endif()\n",
        name, name, name);
    if (o->library)
        bt_text_addf(&text,
                     "# the kernels' primitives%s%s\n"
                     "target_link_libraries(%s PRIVATE "
                     "${CMAKE_CURRENT_SOURCE_DIR}/libbaton_%s.a -lm)\n",
                     *o->machine ? ", for machines with " : "", o->machine, name,
                     o->library);
    bt_text_addf(&text,
                 "\n# The example, which a project that adds this folder does not "
                 "build.\n"
                 "if(\"${CMAKE_SOURCE_DIR}\" STREQUAL "
                 "\"${CMAKE_CURRENT_SOURCE_DIR}\")\n"
                 "  add_executable(%s_example main.c)\n"
                 "  set_target_properties(%s_example PROPERTIES C_STANDARD 99)\n"
                 "  target_link_libraries(%s_example PRIVATE %s)\n",
                 name, name, name, name);
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(&text,
                     "  target_compile_definitions(%s_example PRIVATE\n"
                     "    WEIGHTS=\"${CMAKE_CURRENT_SOURCE_DIR}/%s.weights\")\n",
                     name, name);
    bt_text_addf(&text, "endif()\n");
    return add_file(o, &text, "CMakeLists.txt");
}

int may_refuse(const struct plan *p)
{
    return p->entry->func->nvar && p->narg + p->nresult > 0;
}

/* The number of a leaf's elements, of their parts, or of the bytes of packed ones, as an
 * expression over the dims. */
static bt_status add_nelem(struct plan *p, const struct leaf *leaf, bt_text *out)
{
    const bt_shape_type *shape = bt_tensor_shape(leaf->type);
    if (bt_dtype_is_packed(bt_tensor_dtype(leaf->type))) {
        const bt_type *nbytes = bt_tensor_size(leaf->type);
        return nbytes ? plan_dim_text(p, nbytes, out)
                      : bt_store_why(p->ctx, leaf->type->store);
    }
    const int is_open = may_refuse(p); // a product of numbers has been counted
    const uint32_t n = shape->n + (bt_dtype_nparts(bt_tensor_dtype(leaf->type)) > 1);
    for (uint32_t i = 1; is_open && i < n; i++)
        bt_text_addf(out, "dim_mul(");
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(out, "%s", !i ? "" : is_open ? ", " : " * ");
        if (i == shape->n)
            bt_text_addf(out, "2");
        else
            BT_TRY(plan_dim_text(p, shape->dims[i], out));
        bt_text_addf(out, "%s", i && is_open ? ")" : "");
    }
    if (!n)
        bt_text_addf(out, "1");
    return NULL;
}

static bt_status add_buffers(struct output *o, uint32_t n, const struct leaf *leaves,
                             bt_text *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!values_is_array(o->plan, &leaves[i]))
            continue;
        const char *type = c_element_type(bt_tensor_dtype(leaves[i].type));
        bt_text_addf(out, "    const size_t aot_n_%s = %s(", leaves[i].name,
                     may_refuse(o->plan) ? "aot_is_taken ? count_elements" : "(size_t)");
        BT_TRY(add_nelem(o->plan, &leaves[i], out));
        bt_text_addf(out, ")%s;\n    %s *%s = get_memory(aot_n_%s * sizeof(*%s));\n",
                     may_refuse(o->plan) ? " : 0" : "", type, leaves[i].name,
                     leaves[i].name, leaves[i].name);
    }
    return NULL;
}

const char *example_print(bt_dtype dtype)
{
    if (dtype == BT_FLOAT32)
        return "printf(\" %.9g\", (double)";
    if (dtype == BT_FLOAT64)
        return "printf(\" %.17g\", ";
    return dtype == BT_UINT64 ? "printf(\" %llu\", (unsigned long long)"
                              : "printf(\" %lld\", (long long)";
}

static void add_call(const struct output *o, bt_text *out)
{
    const struct plan *p = o->plan;
    const uint32_t nvar = p->entry->func->nvar;
    bt_text_addf(out, "    fault = %s_run(", p->name);
    for (uint32_t i = 0; i < nvar; i++)
        bt_text_addf(out, "%s, ", p->dims[i]);
    for (uint32_t i = 0; i < p->narg; i++)
        bt_text_addf(out, "%s, ", p->args[i].name);
    for (uint32_t i = 0; i < p->nresult; i++)
        bt_text_addf(out, "%s, ", p->results[i].name);
    bt_text_addf(out, "%sworkspace%s);\n", o->weights == WEIGHTS_FILE ? "weights, " : "",
                 !p->program        ? ""
                 : has_workspace(p) ? ", (size_t)aot_nbytes, DEPTH"
                                    : ", WORKSPACE, DEPTH");
}

static void add_weights(const struct output *o, bt_text *out)
{
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(
            out,
            "    const size_t aot_n_weights = %" PRIu64 "u;\n"
            "    void *weights = get_memory(aot_n_weights);\n"
            "    if (!read_file(WEIGHTS, weights, aot_n_weights)) {\n"
            "        fprintf(stderr, \"%%s: there is no such file of %" PRIu64
            " bytes: it is %s.weights of the program's folder\\n\", WEIGHTS);\n"
            "        return 1;\n    }\n"
            "    if (%s_check_weights(weights, aot_n_weights) != 0) {\n"
            "        fprintf(stderr, \"%%s: the constants of another program\\n\", "
            "WEIGHTS);\n"
            "        return 1;\n    }\n",
            o->weights_nbytes, o->weights_nbytes, o->plan->name, o->plan->name);
}

static uint32_t count_calls(const char *text, const char *call)
{
    uint32_t n = 0;
    for (; text && (text = strstr(text, call)) != NULL; text++)
        n++;
    return n;
}

/* ---- main ---- */

/* Dims come from the command line, each else its least. */
static void add_dims(const struct plan *p, bt_text *out)
{
    for (uint32_t i = 0; i < p->entry->func->nvar; i++) {
        const bt_type_param *param = &bt_as_var_type(p->entry->func->vars[i])->param;
        const int64_t least = param->low > param->step ? param->low : param->step;
        bt_text_addf(out,
                     "    const int64_t %s = argc > %" PRIu32
                     " ? (int64_t)strtoll(argv[%" PRIu32 "], NULL, 10) : %" PRId64 ";\n",
                     p->dims[i], i + 1, i + 1, least);
    }
    if (!may_refuse(p))
        return;
    bt_text_addf(out, "    const int aot_is_taken = takes_dims(");
    for (uint32_t i = 0; i < p->entry->func->nvar; i++)
        bt_text_addf(out, "%s%s", i ? ", " : "", p->dims[i]);
    bt_text_addf(out, ");\n");
}

static void add_workspace(const struct plan *p, bt_text *out)
{
    if (!has_workspace(p)) {
        bt_text_addf(out, "    void *workspace = get_memory(WORKSPACE);\n");
        return;
    }
    // dims that are out of range are refused by the run, which says why
    bt_text_addf(out, "    const uint64_t aot_nbytes = ");
    if (p->program)
        bt_text_addf(out, "WORKSPACE");
    else
        call_workspace(p, out);
    bt_text_addf(out, ";\n    void *workspace = aot_nbytes < UINT64_MAX ? "
                      "get_memory((size_t)aot_nbytes) : NULL;\n");
}

/* Arrays come from the files that are named after the dims, else they are 0, 1, 0, 1. */
static void add_inputs(const struct plan *p, bt_text *out)
{
    const uint32_t nvar = p->entry->func->nvar;
    for (uint32_t i = 0; i < p->narg; i++) {
        const char *name = p->args[i].name;
        if (!values_is_array(p, &p->args[i]))
            continue;
        bt_text_addf(out,
                     "    if (argc > %" PRIu32 "%s) {\n"
                     "        if (!read_file(argv[%" PRIu32
                     "], %s, aot_n_%s * sizeof(*%s))) {\n"
                     "            fprintf(stderr, \"%%s: not the elements of %s\\n\", "
                     "argv[%" PRIu32 "]);\n            return 1;\n        }\n"
                     "    } else {\n"
                     "        for (aot_i = 0; aot_i < aot_n_%s; aot_i++)\n"
                     "            %s[aot_i] = (%s)(aot_i %% 2);\n    }\n",
                     nvar + i + 1, may_refuse(p) ? " && aot_is_taken" : "", nvar + i + 1,
                     name, name, name, name, nvar + i + 1, name, name,
                     c_element_type(bt_tensor_dtype(p->args[i].type)));
    }
}

static void print_outputs(const struct plan *p, bt_text *out)
{
    for (uint32_t i = 0; i < p->nresult; i++) {
        const char *name = p->results[i].name;
        bt_text_addf(
            out,
            "    printf(\"%s:\");\n    for (aot_i = 0; aot_i < aot_n_%s; aot_i++)\n"
            "        %s%s[aot_i]);\n    printf(\"\\n\");\n",
            name, name, example_print(bt_tensor_dtype(p->results[i].type)), name);
    }
}

static bt_status add_main(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    bt_text_addf(out, "int main(int argc, char **argv)\n{\n    int32_t fault;\n%s",
                 p->narg || p->nresult ? "    size_t aot_i;\n" : "");
    if (p->has_values)
        bt_text_addf(out, "    (void)aot_i, (void)argc, (void)argv;\n");
    bt_text_addf(out, "    if (atexit(free_memory) != 0)\n        return 1;\n");
    add_dims(p, out);
    if (p->has_values && may_refuse(p))
        bt_text_addf(out, "    (void)aot_is_taken;\n");
    BT_TRY(add_buffers(o, p->narg, p->args, out));
    if (!p->has_values)
        BT_TRY(add_buffers(o, p->nresult, p->results, out));
    add_workspace(p, out);
    add_weights(o, out);
    add_inputs(p, out);
    if (p->has_values)
        BT_TRY(values_call(o, out));
    else
        add_call(o, out);
    bt_text_addf(out,
                 "    if (fault != 0) {\n"
                 "        fprintf(stderr, \"%%s\\n\", %s_fault(fault));\n        return "
                 "1;\n    }\n",
                 p->name);
    if (p->has_values)
        BT_TRY(values_print(o, out));
    else
        print_outputs(p, out);
    if (!p->entry->func->nvar && !p->narg && !p->has_values)
        bt_text_addf(out, "    (void)argc, (void)argv;\n");
    bt_text_addf(out, "    return 0;\n}\n");
    return NULL;
}

/* What main.c has above main. */
static void add_helpers(const struct output *o, const char *body, bt_text *out)
{
    const struct plan *p = o->plan;
    bt_text budgets;
    bt_text_init(&budgets, out->arena);
    if (p->program && p->bound.is_known) {
        bt_text_addf(&budgets, "/* What is enough for every run. */\n"
                               "#ifndef WORKSPACE\n#define WORKSPACE ");
        if (has_workspace(p))
            call_workspace(p, &budgets);
        else
            bt_text_addf(&budgets, "%s_WORKSPACE", p->name);
        bt_text_addf(&budgets,
                     "\n#endif\n#ifndef DEPTH\n#define DEPTH %s_DEPTH\n#endif\n\n",
                     p->name);
    } else if (p->program) {
        bt_text_addf(&budgets, "/* What a run may need. */\n"
                               "#ifndef WORKSPACE\n#define WORKSPACE ((size_t)16 << "
                               "20)\n#endif\n"
                               "#ifndef DEPTH\n#define DEPTH 256\n#endif\n\n");
    }
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(&budgets,
                     "/* The file of the constants: where it runs, if not said. */\n"
                     "#ifndef WEIGHTS\n#define WEIGHTS \"%s.weights\"\n#endif\n\n",
                     p->name);
    bt_text_addf(
        out,
        "/*\n * An example: %s_example%s%s\n"
        " * Inputs come from files with nothing but their elements; without them they "
        "are 0, 1, 0, 1 ...\n */\n"
        "#include \"%s.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n\n%s"
        "/* Memory from a multiple of 64, until the program ends. */\n"
        "static void *taken[%" PRIu32 "];\nstatic size_t ntaken;\n\n"
        "static void *get_memory(size_t nbytes)\n{\n"
        "    char *at = nbytes < SIZE_MAX - 64 ? malloc(nbytes + 64) : NULL;\n"
        "    if (!at) {\n"
        "        fprintf(stderr, \"no memory\\n\");\n        exit(1);\n    }\n"
        "    taken[ntaken++] = at;\n"
        "    return at + (64 - (uintptr_t)at %% 64);\n}\n\n"
        "static void free_memory(void)\n{\n    while (ntaken > 0)\n"
        "        free(taken[--ntaken]);\n}\n\n",
        p->name, p->entry->func->nvar ? " [DIM]..." : "", p->narg ? " [FILE]..." : "",
        p->name, budgets.at ? budgets.at : "", count_calls(body, "get_memory("));
    if (strstr(body, "read_file("))
        bt_text_addf(
            out, "static int read_file(const char *path, void *to, size_t nbytes)\n{\n"
                 "    FILE *file = fopen(path, \"rb\");\n"
                 "    const size_t n = file ? fread(to, 1, nbytes, file) : 0;\n"
                 "    const int is_whole = file && n == nbytes && fgetc(file) == EOF;\n"
                 "    if (file)\n        fclose(file);\n"
                 "    return is_whole;\n}\n\n");
}

/* What the sizes of arrays take: none of dims that the run refuses, which says why. */
static bt_status add_counting(struct output *o, const char *body, bt_text *out)
{
    if (!may_refuse(o->plan))
        return NULL;
    bt_text_addf(out, "/* 0: the run refuses the dims, and says why. */\n"
                      "static int takes_dims(");
    add_dim_params(o, out);
    bt_text_addf(out, ")\n{\n");
    BT_TRY(add_ranges(o, "0", out));
    bt_text_addf(out, "    return 1;\n}\n\n");
    if (strstr(body, "count_elements("))
        bt_text_addf(out, "/* None where dims are refused later; no more than memory has "
                          "bytes. */\n"
                          "static size_t count_elements(int64_t n)\n{\n"
                          "    const int64_t most = (int64_t)(SIZE_MAX / 16);\n"
                          "    return n < 0 ? 0 : n < most ? (size_t)n : (size_t)most;\n"
                          "}\n\n");
    return NULL;
}

bt_status write_example(struct output *o)
{
    bt_text text, body;
    int is_kept;
    bt_text_init(&text, o->plan->arena);
    bt_text_init(&body, o->plan->arena);
    BT_TRY(add_main(o, &body));
    if (!bt_text_get(&body))
        return bt_no_memory();
    add_helpers(o, body.at, &text);
    c_dim_functions(&body, &text);
    BT_TRY(add_counting(o, body.at, &text));
    bt_text_add(&text, body.at, body.len);
    if (!bt_text_get(&text))
        return bt_no_memory();
    BT_TRY(is_users(o, text.at, &is_kept));
    BT_TRY(write_cmake(o, text.at));
    return is_kept ? NULL : add_file(o, &text, "main.c");
}
