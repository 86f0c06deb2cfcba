/* From a compiled module to an artifact. Constants are written from where they are. */
#include "compile/artifact/artifact.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc.h"
#include "value/file.h"
#include "value/tensor.h"

/* Of code. */
struct piece {
    const void *at;
    size_t nbytes;
    uint64_t offset; /* in the section */
};

struct writer {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_compiled *compiled;
    uint32_t *numbers; /* by target: its number in the file; UINT32_MAX: left out */
    bt_npz *constants;
    bt_vec(bt_tensor *) dense;   /* of the constants, one after the other */
    bt_vec(struct piece) pieces; /* the first is none */
    bt_map places;               /* bytes -> their piece, from 1 */
    uint64_t code_nbytes;        /* of all, and what lies between them */
    bt_vec(bt__file_part) parts;
    uint64_t nbytes; /* of all parts */
    struct bt__artifact_head head;
    struct bt__artifact_row rows[BT__SECTION_COUNT - 1];
};

static const char zeros[BT__ARTIFACT_ALIGN];

/* ---- parts ---- */

static int push(struct writer *w, const void *bytes, size_t nbytes)
{
    w->nbytes += nbytes;
    return BT_PUSH(w->arena, &w->parts, ((bt__file_part){ bytes, nbytes }));
}

static size_t gap(uint64_t nbytes)
{
    return (size_t)((BT__ARTIFACT_ALIGN - nbytes % BT__ARTIFACT_ALIGN) %
                    BT__ARTIFACT_ALIGN);
}

static struct bt__artifact_row *begin(struct writer *w, uint32_t kind)
{
    struct bt__artifact_row *row = &w->rows[kind - 1];
    if (!push(w, zeros, gap(w->nbytes)))
        return NULL;
    *row = (struct bt__artifact_row){ .kind = kind, .offset = w->nbytes };
    return row;
}

static bt_status add(struct writer *w, struct bt__artifact_row *row, const void *bytes,
                     size_t nbytes)
{
    row->nbytes += nbytes;
    row->checksum = bt__crc32c(row->checksum, bytes, nbytes);
    return push(w, bytes, nbytes) ? NULL : bt_no_memory();
}

static bt_status add_section(struct writer *w, uint32_t kind, const void *bytes,
                             size_t nbytes)
{
    struct bt__artifact_row *row = begin(w, kind);
    return row ? add(w, row, bytes, nbytes) : bt_no_memory();
}

static bt_status add_text(struct writer *w, uint32_t kind, const bt_text *text)
{
    return bt_text_get(text) ? add_section(w, kind, bt_text_get(text), text->len)
                             : bt_no_memory();
}

/* ---- sections ---- */

/* What the entry reaches: most primitive functions have become code. */
static bt_status take_reached(struct writer *w, bt_module **out)
{
    const bt_module *module = w->compiled->module;
    const bt_global *entry;
    const bt_callgraph *graph;
    bt_module_builder *builder;
    const uint8_t *reached;
    BT_TRY(bt_module_entry(w->ctx, module, w->compiled->entry, &entry));
    BT_TRY(bt_callgraph_create(w->ctx, module, w->arena, &graph));
    BT_TRY(bt_callgraph_reach(graph, module, entry, w->arena, &reached));
    BT_TRY(bt_module_builder_create(w->ctx, module->store, module, &builder));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        if (!reached[g])
            bt_module_builder_remove(builder, module->globals[g]->name);
    }
    return bt_module_builder_finish(builder, 1, out);
}

static bt_status add_program(struct writer *w)
{
    bt_module *module;
    bt_text text;
    const bt_print_options options = { .spans = 1,
                                       .weights = "constants",
                                       .npz = &w->constants };
    bt_text_init(&text, w->arena);
    BT_TRY(take_reached(w, &module));
    bt_status status = bt_print(w->ctx, module, &options, &text);
    bt_module_unref(module);
    return status ? status : add_text(w, BT__SECTION_PROGRAM, &text);
}

static bt_status add_record(struct writer *w, const bt_npz_entry *entry, uint64_t offset,
                            bt_text *out)
{
    bt_tensor *dense; // but for its place in memory
    if (bt__tensor_is_row_major(entry->tensor))
        dense = bt_tensor_ref(entry->tensor);
    else
        BT_TRY(bt_tensor_dense(w->ctx, entry->tensor, &dense));
    if (!BT_PUSH(w->arena, &w->dense, dense)) {
        bt_tensor_unref(dense);
        return bt_no_memory();
    }
    const struct bt__tensor_record record = { .offset = offset,
                                              .dtype = dense->dtype,
                                              .rank = dense->rank,
                                              .name_nbytes =
                                                  (uint32_t)strlen(entry->name) };
    bt_text_add(out, (const char *)&record, sizeof(record));
    bt_text_add(out, (const char *)dense->dims, dense->rank * sizeof(*dense->dims));
    bt_text_add(out, entry->name, record.name_nbytes);
    bt_text_add(out, zeros, (8 - record.name_nbytes % 8) % 8);
    return NULL;
}

static bt_status add_tensors(struct writer *w)
{
    uint64_t offset = 0;
    bt_text text;
    bt_text_init(&text, w->arena);
    for (uint32_t i = 0; i < w->constants->len; i++) {
        BT_TRY(add_record(w, &w->constants->at[i], offset, &text));
        offset += bt_tensor_nbytes(w->dense.at[i]);
        offset += gap(offset);
    }
    return add_text(w, BT__SECTION_TENSORS, &text);
}

static bt_status add_constants(struct writer *w)
{
    struct bt__artifact_row *row = begin(w, BT__SECTION_CONSTANTS);
    if (!row)
        return bt_no_memory();
    for (uint32_t i = 0; i < w->dense.len; i++) {
        BT_TRY(add(w, row, zeros, gap(row->nbytes)));
        BT_TRY(add(w, row, w->dense.at[i]->data, bt_tensor_nbytes(w->dense.at[i])));
    }
    return NULL;
}

static void add_word(bt_text *out, const char *text)
{
    bt_text_add(out, text, strlen(text) + 1);
}

static void add_number(bt_text *out, uint64_t value)
{
    bt_text_addf(out, "%" PRIu64, value);
    bt_text_add(out, "", 1);
}

static void add_cost(bt_text *out, int64_t value)
{
    if (value < 0)
        add_word(out, "-");
    else
        add_number(out, (uint64_t)value);
}

/* Targets without a kernel in the file are left out: they are not needed where it is
 * run. */
static bt_status number_targets(struct writer *w)
{
    const bt_compiled *c = w->compiled;
    uint32_t n = 0;
    w->numbers = BT_NEWS(w->arena, uint32_t, c->ntarget);
    if (!w->numbers)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->nfunc; i++)
        w->numbers[c->funcs[i]->target] = 1;
    for (uint32_t i = 0; i < c->nkernel; i++)
        w->numbers[c->kernels[i]->target] = 1;
    if (!c->nfunc && !c->nkernel)
        w->numbers[c->ntarget - 1] = 1; // a file names at least one target
    for (uint32_t i = 0; i < c->ntarget; i++)
        w->numbers[i] = w->numbers[i] ? n++ : UINT32_MAX;
    return NULL;
}

static bt_status add_targets(struct writer *w)
{
    const bt_compiled *c = w->compiled;
    bt_text text;
    bt_text_init(&text, w->arena);
    add_word(&text, c->entry);
    add_word(&text, c->executor);
    add_number(&text, c->unpacked_nbytes);
    add_number(&text, c->packed_nbytes);
    for (uint32_t i = 0; i < c->ntarget; i++) {
        if (w->numbers[i] == UINT32_MAX)
            continue;
        add_word(&text, c->targets[i]->text);
        add_word(&text, c->compatibility[i]);
    }
    return add_text(w, BT__SECTION_TARGETS, &text);
}

static bt_status add_functions(struct writer *w)
{
    bt_text text;
    bt_text_init(&text, w->arena);
    for (uint32_t i = 0; i < w->compiled->nfunc; i++) {
        const bt_compiled_func *func = w->compiled->funcs[i];
        add_word(&text, func->name);
        add_number(&text, w->numbers[func->target]);
        add_word(&text, func->why);
        add_word(&text, func->way);
        add_cost(&text, func->multiply_adds);
        add_cost(&text, func->nbytes);
    }
    return add_text(w, BT__SECTION_FUNCTIONS, &text);
}

/* Where a piece lies in the section `code`: one for all that are of the same bytes. */
static bt_status place_piece(struct writer *w, const void *at, size_t nbytes,
                             bt_text *text)
{
    uintptr_t found = nbytes ? (uintptr_t)bt_map_find(&w->places, at) : 1;
    if (found && w->pieces.at[found - 1].nbytes != nbytes)
        found = 0;
    uint64_t offset = found ? w->pieces.at[found - 1].offset : w->code_nbytes;
    if (!found) {
        if (!BT_PUSH(w->arena, &w->pieces, ((struct piece){ at, nbytes, offset })) ||
            !bt_map_put(&w->places, at, (void *)(uintptr_t)w->pieces.len))
            return bt_no_memory();
        w->code_nbytes = offset + nbytes + gap(offset + nbytes);
    }
    add_number(text, offset);
    add_number(text, nbytes);
    return NULL;
}

static bt_status add_code_of(struct writer *w, const bt_kernel_code *code, bt_text *text)
{
    add_number(text, code->form);
    add_word(text, code->symbol ? code->symbol : "");
    BT_TRY(place_piece(w, code->at, code->nbytes, text));
    BT_TRY(place_piece(w, code->own, code->own_nbytes, text));
    add_number(text, code->scratch);
    add_number(text, code->nphase);
    for (uint32_t i = 0; i < code->nphase; i++)
        add_number(text, (uint64_t)code->phases[i]);
    add_number(text, code->nfault);
    for (uint32_t i = 0; i < code->nfault; i++) {
        const bt_fault *fault = &code->faults[i];
        add_word(text, fault->text ? fault->text : "");
        add_word(text, fault->array ? fault->array : "");
        add_number(text, fault->axis);
        add_number(text, (uint64_t)fault->extent);
    }
    return NULL;
}

static bt_status add_kernels(struct writer *w)
{
    bt_text text;
    bt_text_init(&text, w->arena);
    for (uint32_t i = 0; i < w->compiled->nkernel; i++) {
        const bt_compiled_kernel *kernel = w->compiled->kernels[i];
        add_word(&text, kernel->name);
        add_word(&text, kernel->type);
        add_number(&text, w->numbers[kernel->target]);
        add_number(&text, kernel->func);
        BT_TRY(add_code_of(w, w->compiled->codes[i], &text));
    }
    return add_text(w, BT__SECTION_KERNELS, &text);
}

static bt_status add_code(struct writer *w)
{
    struct bt__artifact_row *row = begin(w, BT__SECTION_CODE);
    if (!row)
        return bt_no_memory();
    for (uint32_t i = 1; i < w->pieces.len; i++) {
        BT_TRY(add(w, row, zeros, gap(row->nbytes)));
        BT_TRY(add(w, row, w->pieces.at[i].at, w->pieces.at[i].nbytes));
    }
    return NULL;
}

static bt_status add_provenance(struct writer *w, uint64_t pipeline)
{
    bt_text text;
    bt_text_init(&text, w->arena);
    bt_text_add(&text, w->compiled->provenance, strlen(w->compiled->provenance));
    if (pipeline)
        bt_text_addf(&text, "pipeline %016" PRIx64 "\n", pipeline);
    return add_text(w, BT__SECTION_PROVENANCE, &text);
}

/* ---- the file ---- */

static void finish_head(struct writer *w)
{
    memcpy(w->head.magic, BT__ARTIFACT_MAGIC, sizeof(w->head.magic));
    w->head.order = BT__ARTIFACT_ORDER;
    w->head.version = BT__ARTIFACT_VERSION;
    w->head.nsection = BT_COUNT(w->rows);
    w->head.nbytes = w->nbytes;
    w->head.checksum =
        bt__crc32c(bt__crc32c(0, &w->head, sizeof(w->head)), w->rows, sizeof(w->rows));
}

/* What cannot be read must not take the place of what can. Constants are as they were in
 * memory, and reading them would bring them there a second time. self: the path. */
static bt_status read_back(bt_ctx *ctx, const char *written, const void *self)
{
    bt_tensor *bytes;
    bt_artifact *artifact;
    BT_TRY(bt__artifact_map(ctx, written, &bytes));
    bt_status status =
        bt__artifact_read_bytes(ctx, self, bytes, BT__SECTION_CONSTANTS, &artifact);
    bt_tensor_unref(bytes);
    if (status)
        return bt_note(
            ctx, status, NULL, 0,
            "the program was compiled, but not written: its file would not open");
    bt_artifact_close(artifact);
    return NULL;
}

static bt_status write_file(struct writer *w, uint64_t pipeline, const char *path)
{
    bt_map_init(&w->places, w->arena, 0);
    if (!BT_PUSH(w->arena, &w->pieces, ((struct piece){ 0 })) ||
        !push(w, &w->head, sizeof(w->head)) || !push(w, w->rows, sizeof(w->rows)))
        return bt_no_memory();
    BT_TRY(number_targets(w));
    BT_TRY(add_program(w));
    BT_TRY(add_tensors(w));
    BT_TRY(add_targets(w));
    BT_TRY(add_functions(w));
    BT_TRY(add_kernels(w));
    BT_TRY(add_provenance(w, pipeline));
    BT_TRY(add_code(w));
    BT_TRY(add_constants(w));
    finish_head(w);
    return bt__file_write_parts(w->ctx, path, w->parts.len, w->parts.at, read_back, path);
}

bt_status bt_artifact_write(bt_ctx *ctx, const bt_compiled *compiled, uint64_t pipeline,
                            const char *path)
{
    struct writer w = { .ctx = ctx,
                        .arena = bt_arena_create(bt_ctx_registry(ctx)),
                        .compiled = compiled };
    bt_status status = w.arena ? write_file(&w, pipeline, path) : bt_no_memory();
    for (uint32_t i = 0; i < w.dense.len; i++)
        bt_tensor_unref(w.dense.at[i]);
    bt_npz_destroy(ctx, w.constants);
    bt_arena_destroy(w.arena);
    return status;
}
