/* NAME.c. */
#include "write.h"

#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "dims.h"
#include "expr.h"

/* ---- sizes ---- */

/* Which blocks are in the frame. */
static int is_in_frame(const struct block *block)
{
    return !block->result;
}

static int follows(const struct plan *p, uint32_t block)
{
    while (++block < p->blocks.len) {
        if (is_in_frame(&p->blocks.at[block]))
            return 1;
    }
    return 0;
}

/* Where the frame's blocks begin, and, where it is asked for, its end: numbers, or
 * variables aot_f0, aot_f1 ... */
static bt_status add_frame(struct output *o, int has_end, bt_text *out,
                           const char **places)
{
    struct plan *p = o->plan;
    bt_text at;
    uint32_t k = 0;
    int64_t known = 0; // -1: the number is not
    bt_text_init(&at, p->arena);
    bt_text_addf(&at, "0");
    for (uint32_t i = 0; i < p->blocks.len; i++) {
        const struct block *block = &p->blocks.at[i];
        int64_t nbytes;
        if (!is_in_frame(block))
            continue;
        places[i] = bt_text_get(&at);
        if (!places[i])
            return bt_no_memory();
        if (!has_end && !follows(p, i))
            return NULL;
        bt_text_init(&at, p->arena);
        if (known >= 0 && bt_dim_is_const(block->nbytes, &nbytes) &&
            nbytes < INT64_MAX - 64 - known) {
            known += (nbytes + 63) / 64 * 64;
            bt_text_addf(&at, "INT64_C(%" PRId64 ")", known);
            continue;
        }
        known = -1;
        bt_text_addf(out,
                     "    const int64_t aot_f%" PRIu32
                     " = dim_add(%s, dim_mul(INT64_C(64), dim_ceildiv(",
                     k, places[i]);
        BT_TRY(plan_dim_text(p, block->nbytes, out));
        bt_text_addf(out, ", INT64_C(64))));\n");
        bt_text_addf(&at, "aot_f%" PRIu32, k++);
    }
    places[p->blocks.len] = bt_text_get(&at);
    return places[p->blocks.len] ? NULL : bt_no_memory();
}

/* Sizes are counted in 64 bits. */
static const int64_t most_dim = INT64_C(1) << 48;

/* What is returned for a dim that is refused: its fault's text ends as the format says. */
static bt_status add_range(struct output *o, uint32_t dim, const char *refused,
                           bt_text *out, const char *format, ...) BT_PRINTF(5, 6);
static bt_status add_range(struct output *o, uint32_t dim, const char *refused,
                           bt_text *out, const char *format, ...)
{
    struct plan *p = o->plan;
    va_list args;
    bt_text text;
    bt_span span;
    uint32_t number;
    if (refused) {
        bt_text_addf(out, "        return %s;\n", refused);
        return NULL;
    }
    bt_text_init(&text, p->arena);
    span = plan_dim_says(p, dim, &text);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    if (!bt_text_get(&text))
        return bt_no_memory();
    BT_TRY(output_fault(o, span, text.at, &number));
    bt_text_addf(out, "        return %" PRIu32 ";\n", number);
    return NULL;
}

bt_status add_ranges(struct output *o, const char *refused, bt_text *out)
{
    struct plan *p = o->plan;
    for (uint32_t i = 0; i < p->entry->func->nvar; i++) {
        const bt_type_param *param = &bt_as_var_type(p->entry->func->vars[i])->param;
        const int64_t high = param->high < most_dim ? param->high : most_dim;
        bt_text_addf(out, "    if (%s < %" PRId64 " || %s > INT64_C(%" PRId64 "))\n",
                     p->dims[i], param->low, p->dims[i], high);
        BT_TRY(add_range(o, i, refused, out, ", outside %" PRId64 "..%" PRId64,
                         param->low, high));
        if (param->step <= 1)
            continue;
        bt_text_addf(out, "    if (%s %% %" PRId64 " != 0)\n", p->dims[i], param->step);
        BT_TRY(add_range(o, i, refused, out, ", which is no multiple of %" PRId64,
                         param->step));
    }
    return NULL;
}

static bt_status add_workspace(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const char **places = BT_NEWS(p->arena, const char *, (size_t)p->blocks.len + 1);
    if (!places)
        return bt_no_memory();
    bt_text_addf(out, "uint64_t %s_workspace(", p->name);
    add_dim_params(o, out);
    bt_text_addf(out, "%s)\n{\n", is_open(o) ? "" : "void");
    bt_text body;
    bt_text_init(&body, p->arena);
    BT_TRY(add_frame(o, 1, &body, places));
    BT_TRY(add_ranges(o, "UINT64_MAX", out));
    bt_text_add(out, body.at ? body.at : "", body.len);
    if (is_open(o))
        bt_text_addf(
            out,
            "    return %s >= 0 && %s < INT64_MAX ? (uint64_t)%s : UINT64_MAX;\n}\n\n",
            places[p->blocks.len], places[p->blocks.len], places[p->blocks.len]);
    else
        bt_text_addf(out, "    return (uint64_t)%s;\n}\n\n", places[p->blocks.len]);
    return NULL;
}

/* ---- steps ---- */

static bt_status add_place(struct output *o, const char *const *blocks,
                           const struct place *place, bt_text *out)
{
    struct plan *p = o->plan;
    if (place->kind == PLACE_ARG) {
        bt_text_addf(out, "(void *)(uintptr_t)%s", p->args[place->index].name);
        return NULL;
    }
    if (place->kind == PLACE_CONST && o->weights == WEIGHTS_FILE) {
        bt_text_addf(out, "(void *)((uintptr_t)weights + %" PRIu64 "u)",
                     o->offsets[place->index]);
        return NULL;
    }
    if (place->kind == PLACE_CONST) {
        bt_text_addf(out, "(void *)(uintptr_t)%s_c%" PRIu32, p->name, place->index);
        return NULL;
    }
    const struct block *block = &p->blocks.at[place->index];
    if (block->result) {
        bt_text_addf(out, "%s", p->results[block->result - 1].name);
        return NULL;
    }
    bt_text_addf(out, "aot_frame");
    if (strcmp(blocks[place->index], "0") != 0)
        bt_text_addf(out, " + %s", blocks[place->index]);
    if (place->offset) {
        bt_text_addf(out, " + ");
        BT_TRY(plan_dim_text(p, place->offset, out));
    }
    return NULL;
}

static bt_status add_invoke(struct output *o, const char *const *blocks,
                            const struct step *step, bt_text *out)
{
    struct plan *p = o->plan;
    const bt_kernel_code *code = p->compiled->codes[step->kernel];
    uint32_t before_faults;
    BT_TRY(add_kernel_faults(o, step->kernel, step->span, &before_faults));
    for (uint32_t i = 0; i < step->nbuffer; i++) {
        bt_text_addf(out, "    aot_buffers[%" PRIu32 "] = ", i);
        BT_TRY(add_place(o, blocks, &step->buffers[i], out));
        bt_text_addf(out, ";\n");
    }
    bt_text_addf(out, "    aot_call.nbuffer = %" PRIu32 ";\n", step->nbuffer);
    for (uint32_t i = 0; i < step->ndim; i++) {
        bt_text_addf(out, "    aot_dims[%" PRIu32 "] = ", i);
        BT_TRY(plan_dim_text(p, step->dims[i], out));
        bt_text_addf(out, ";\n");
    }
    if (step->ndim)
        bt_text_addf(out,
                     "    aot_call.dims = aot_dims;\n    aot_call.ndim = %" PRIu32 ";\n",
                     step->ndim);
    if (step->workspace) {
        bt_text_addf(out, "    aot_call.workspace = ");
        BT_TRY(add_place(o, blocks, step->workspace, out));
        bt_text_addf(out, ";\n");
        if (code->scratch)
            bt_text_addf(out, "    aot_call.scratch = aot_call.workspace;\n");
    }
    for (uint32_t i = 0; i < (code->nphase ? code->nphase : 1); i++) {
        if (code->nphase)
            bt_text_addf(out,
                         "    aot_call.phase = %" PRIu32
                         ";\n    aot_call.end = INT64_C(%" PRId64 ");\n",
                         i, code->phases[i]);
        bt_text_addf(out,
                     "    fault = %s(&aot_call);\n    if (fault != 0)\n        return ",
                     o->symbols[step->kernel]);
        if (code->nfault)
            bt_text_addf(out, "fault < 0 ? fault : fault + %" PRIu32 ";\n",
                         before_faults);
        else
            bt_text_addf(out, "fault;\n");
    }
    return NULL;
}

static bt_status add_copy(struct output *o, const char *const *blocks,
                          const struct step *step, bt_text *out)
{
    bt_text_addf(out, "    memmove(");
    BT_TRY(add_place(o, blocks, &step->buffers[1], out));
    bt_text_addf(out, ", ");
    BT_TRY(add_place(o, blocks, &step->buffers[0], out));
    bt_text_addf(out, ", (size_t)(");
    BT_TRY(plan_dim_text(o->plan, step->nbytes, out));
    bt_text_addf(out, "));\n");
    return NULL;
}

/* A check of dims: the step's fault number is its own. */
static bt_status add_check(struct output *o, const struct step *step, uint32_t fault,
                           bt_text *out)
{
    struct plan *p = o->plan;
    bt_text left, right;
    bt_text_init(&left, p->arena);
    bt_text_init(&right, p->arena);
    BT_TRY(plan_dim_text(p, step->check.left, &left));
    BT_TRY(plan_dim_text(p, step->check.right, &right));
    const char *a = bt_text_get(&left), *b = bt_text_get(&right);
    if (!a || !b)
        return bt_no_memory();
    bt_text_addf(out, "    if (");
    plan_check_fails(step->check.relation, a, b, out);
    bt_text_addf(out, ")\n        return %" PRIu32 ";\n", fault);
    return NULL;
}

/* A result that no kernel has computed in place. */
static bt_status add_result(struct output *o, const char *const *blocks, uint32_t i,
                            bt_text *out)
{
    struct plan *p = o->plan;
    const struct leaf *leaf = &p->results[i];
    const struct block *block =
        leaf->place.kind == PLACE_BLOCK ? &p->blocks.at[leaf->place.index] : NULL;
    const bt_type *nbytes = bt_tensor_size(leaf->type);
    if (block && block->result == i + 1)
        return NULL;
    if (!nbytes)
        return bt_store_why(p->ctx, leaf->type->store);
    bt_text_addf(out, "    memmove(%s, ", leaf->name);
    BT_TRY(add_place(o, blocks, &leaf->place, out));
    bt_text_addf(out, ", (size_t)(");
    BT_TRY(plan_dim_text(p, nbytes, out));
    bt_text_addf(out, "));\n");
    return NULL;
}

/* Whether the program needs an argument. */
static int is_read(const struct plan *p, uint32_t arg)
{
    for (uint32_t i = 0; i < p->steps.len; i++) {
        const struct step *step = &p->steps.at[i];
        for (uint32_t k = 0; k < step->nbuffer; k++) {
            if (step->buffers[k].kind == PLACE_ARG && step->buffers[k].index == arg)
                return 1;
        }
    }
    for (uint32_t i = 0; i < p->nresult; i++) {
        if (p->results[i].place.kind == PLACE_ARG && p->results[i].place.index == arg)
            return 1;
    }
    return 0;
}

/* Whether a text has a word, not as a part of a longer one. */
static int has_word(const char *text, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "0123456789";
    const size_t n = strlen(word);
    const char *at = text;
    while ((at = strstr(at, word)) != NULL &&
           ((at > text && strchr(letters, at[-1])) || (at[n] && strchr(letters, at[n]))))
        at += n;
    return at != NULL;
}

/* The calls of kernels and the copies, with the most buffers and dims that one has. */
static bt_status add_steps(struct output *o, const char *const *places, uint32_t *nbuffer,
                           uint32_t *ndim, bt_text *out)
{
    struct plan *p = o->plan;
    *nbuffer = *ndim = 0;
    for (uint32_t i = 0; i < p->steps.len; i++) {
        const struct step *step = &p->steps.at[i];
        if (step->kind == STEP_INVOKE) {
            *nbuffer = step->nbuffer > *nbuffer ? step->nbuffer : *nbuffer;
            *ndim = step->ndim > *ndim ? step->ndim : *ndim;
            BT_TRY(add_invoke(o, places, step, out));
        } else if (step->kind == STEP_COPY) {
            BT_TRY(add_copy(o, places, step, out));
        }
    }
    for (uint32_t i = 0; i < p->nresult; i++)
        BT_TRY(add_result(o, places, i, out));
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* What the entry looks at before it does anything: its workspace, its dims. */
static bt_status add_entry_checks(struct output *o, const bt_text *sizes, bt_text *out)
{
    struct plan *p = o->plan;
    uint32_t ncheck = 0;
    bt_text_addf(out, "    if ((uintptr_t)workspace %% 64 != 0)\n        return %d;\n",
                 FAULT_WORKSPACE);
    BT_TRY(add_ranges(o, NULL, out));
    for (uint32_t i = 0; i < p->steps.len; i++) {
        if (p->steps.at[i].kind == STEP_CHECK)
            BT_TRY(add_check(o, &p->steps.at[i], FAULT_CHECK + ncheck++, out));
    }
    if (is_open(o)) {
        bt_text_addf(out, "    if (");
        call_workspace(p, out);
        bt_text_addf(out, " == UINT64_MAX)\n        return %d;\n", FAULT_SIZE);
    }
    bt_text_addf(out, "    if (!workspace && ");
    call_workspace(p, out);
    bt_text_addf(out, " != 0)\n        return %d;\n", FAULT_WORKSPACE);
    if (is_open(o))
        bt_text_add(out, sizes->at ? sizes->at : "", sizes->len);
    return NULL;
}

static bt_status add_run(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const char **places = BT_NEWS(p->arena, const char *, (size_t)p->blocks.len + 1);
    uint32_t nbuffer, ndim;
    bt_text sizes, steps;
    if (!places)
        return bt_no_memory();
    bt_text_init(&sizes, p->arena);
    bt_text_init(&steps, p->arena);
    BT_TRY(add_frame(o, 0, &sizes, places));
    BT_TRY(add_steps(o, places, &nbuffer, &ndim, &steps));
    const char *text = bt_text_get(&steps);
    const int has_frame = has_word(text, "aot_frame");
    add_prototype(o, out);
    bt_text_addf(out, "\n{\n");
    if (nbuffer)
        bt_text_addf(
            out,
            "    bt_kernel_call aot_call = { 0 };\n    void *aot_buffers[%" PRIu32 "];\n"
            "    int32_t fault;\n",
            nbuffer);
    if (ndim)
        bt_text_addf(out, "    int64_t aot_dims[%" PRIu32 "];\n", ndim);
    if (has_frame)
        bt_text_addf(out, "    unsigned char *const aot_frame = workspace;\n");
    if (!has_frame)
        bt_text_init(&sizes, p->arena);
    BT_TRY(add_entry_checks(o, &sizes, out));
    for (uint32_t i = 0; i < p->narg; i++) {
        if (!is_read(p, i))
            bt_text_addf(out, "    (void)%s;\n", p->args[i].name);
    }
    if (o->weights == WEIGHTS_FILE && !has_word(text, "weights"))
        bt_text_addf(out, "    (void)weights;\n");
    if (nbuffer)
        bt_text_addf(out, "    aot_call.nbytes = (uint32_t)sizeof(aot_call);\n"
                          "    aot_call.buffers = aot_buffers;\n    aot_call.end = 1;\n");
    bt_text_add(out, text, steps.len);
    bt_text_addf(out, "    return 0;\n}\n\n");
    return NULL;
}

/* ---- faults ---- */

/* A C string. */
static void add_string(const char *text, bt_text *out)
{
    bt_text_addf(out, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            bt_text_addf(out, "\\%c", c);
        else if (c < 32 || c == 127 || c == '?') // ?? would be a trigraph
            bt_text_addf(out, "\\%03o", c);
        else
            bt_text_add(out, text, 1);
    }
    bt_text_addf(out, "\"");
}

static void add_fault(const char *text, bt_text *out)
{
    bt_text_addf(out, "        ");
    add_string(text, out);
    bt_text_addf(out, ",\n");
}

static bt_status add_check_text(struct output *o, const struct step *step, bt_text *out)
{
    struct plan *p = o->plan;
    bt_text text;
    bt_text_init(&text, p->arena);
    plan_check_says(p, step->of, &step->check, &text);
    const char *line =
        bt_text_get(&text) ? plan_fault_text(p, step->span, text.at) : NULL;
    if (!line)
        return bt_no_memory();
    add_fault(line, out);
    return NULL;
}

static bt_status add_faults(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    bt_text_addf(
        out,
        "const char *%s_fault(int32_t fault)\n{\n"
        "    static const char *const texts[] = {\n"
        "        \"done\",\n"
        "        \"the workspace is NULL, or does not begin at a multiple of 64\",\n"
        "        \"the dims need more memory than can be counted\",\n",
        p->name);
    if (p->program)
        bt_text_addf(
            out, "        \"the workspace is too small for what the program builds\",\n"
                 "        \"more calls are in progress than depth allows\",\n"
                 "        \"a value has other dims than its type says\",\n"
                 "        \"a dim is negative\",\n"
                 "        \"a tensor has more elements than can be counted\",\n");
    for (uint32_t i = 0; i < p->steps.len; i++) {
        if (p->steps.at[i].kind == STEP_CHECK)
            BT_TRY(add_check_text(o, &p->steps.at[i], out));
    }
    for (uint32_t i = 0; i < p->texts.len; i++)
        add_fault(p->texts.at[i], out);
    bt_text_addf(out,
                 "    };\n"
                 "    const int32_t n = (int32_t)(sizeof(texts) / sizeof(texts[0]));\n");
    if (o->library)
        bt_text_addf(out,
                     "    if (fault == BT_FAULT_DEVICE)\n"
                     "        return \"this machine does not run the instructions of "
                     "the kernels\";\n");
    bt_text_addf(out,
                 "    return fault >= 0 && fault < n ? texts[fault] : \"no fault of this "
                 "program\";\n}\n");
    return NULL;
}

static void add_check_weights(const struct output *o, bt_text *out)
{
    const struct plan *p = o->plan;
    bt_text_addf(out,
                 "\nint32_t %s_check_weights(const void *weights, size_t nbytes)\n{\n"
                 "    const unsigned char *at = weights;\n"
                 "    uint64_t digest = UINT64_C(0xcbf29ce484222325);\n"
                 "    size_t i;\n"
                 "    if (nbytes != %" PRIu64 "u)\n        return 1;\n"
                 "    for (i = 0; i < nbytes; i++)\n"
                 "        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);\n"
                 "    return digest != %s_digest;\n}\n",
                 p->name, o->weights_nbytes, p->name);
}

/* Tensors of constants that the steps use, in a file of their own. */
static void add_declarations(const struct output *o, bt_text *out)
{
    const struct plan *p = o->plan;
    for (uint32_t i = 0; i < p->consts.len && o->weights == WEIGHTS_C; i++)
        bt_text_addf(out, "extern const %s %s_c%" PRIu32 "[];\n",
                     constant_type(p->consts.at[i]), p->name, i);
    if (o->weights == WEIGHTS_FILE)
        bt_text_addf(out, "extern const uint64_t %s_digest;\n", p->name);
    for (uint32_t i = 0; i < p->compiled->nkernel; i++)
        bt_text_addf(out, "int32_t %s(const bt_kernel_call *call);\n", o->symbols[i]);
    bt_text_addf(out, "\n");
}

bt_status write_program(struct output *o)
{
    struct plan *p = o->plan;
    bt_text text, body;
    bt_text_init(&text, p->arena);
    bt_text_init(&body, p->arena);
    if (p->program) {
        BT_TRY(write_code(o, &body));
    } else {
        BT_TRY(add_workspace(o, &body));
        BT_TRY(add_run(o, &body));
    }
    BT_TRY(add_faults(o, &body));
    if (o->weights == WEIGHTS_FILE)
        add_check_weights(o, &body);
    bt_text_addf(
        &text, "#include \"%s.h\"\n\n%s%s#include <baton/kernel.h>\n%s\n", p->name,
        body.at && strstr(body.at, "memmove(")
            ? "void *memmove(void *to, const void *from, size_t n);\n\n"
            : "",
        body.at && strstr(body.at, "memcpy(")
            ? "void *memcpy(void *to, const void *from, size_t n);\n\n"
            : "",
        body.at && strstr(body.at, "bt_plain_call") ? "#include <baton/plain.h>\n" : "");
    add_declarations(o, &text);
    c_dim_functions(&body, &text);
    bt_text_add(&text, body.at ? body.at : "", body.len);
    if (body.failed)
        return bt_no_memory();
    return add_file(o, &text, "%s.c", p->name);
}
