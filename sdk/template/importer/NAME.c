/*
 * @name@: reads models of a format of its own: a first line with the dims of the input, then a line for each operator.
 *     chain 2 3
 *     nn.relu
 *     exp
 */
#include <string.h>

#include <baton/importer.h>

static const char magic[] = "chain ";
enum { NMAGIC = sizeof(magic) - 1 };

/* From the first bytes of a file, which are followed by a NUL. */
static int32_t probe(const void *head, size_t nbytes)
{
    return nbytes > NMAGIC && memcmp(head, magic, NMAGIC) == 0 ? 90 : 0;
}

struct reader {
    bt_ctx *ctx;
    bt_store *store;
    uint32_t source; /* of spans: messages show the line */
    const char *start, *at, *end;
};

/* The next line; its place in *span. 0: there is none. */
static int next_line(struct reader *r, const char **line, size_t *n, bt_span *span)
{
    if (r->at >= r->end)
        return 0;
    *line = r->at;
    for (*n = 0; r->at + *n < r->end && r->at[*n] != '\n';)
        ++*n;
    *span = bt_span_text(r->store, r->source, (uint32_t)(r->at - r->start), (uint32_t)*n);
    r->at += *n + (r->at + *n < r->end);
    return 1;
}

static bt_status read_dims(struct reader *r, int64_t *dims, uint32_t *rank)
{
    const char *line;
    size_t n;
    bt_span span;
    if (!next_line(r, &line, &n, &span) || !probe(line, n + 1)) /* a suffix alone brought it here */
        return bt_fail_at(r->ctx, BT_ERR_FORMAT, r->store, span, "\"chain\" and dims are expected, as in \"chain 2 3\"");
    for (size_t i = NMAGIC; i < n;) {
        int64_t dim = 0;
        size_t first = i;
        for (; i < n && line[i] >= '0' && line[i] <= '9' && dim < INT32_MAX; i++)
            dim = 10 * dim + (line[i] - '0');
        if (i == first || (i < n && line[i] != ' ') || *rank == BT_MAX_RANK)
            return bt_fail_at(r->ctx, BT_ERR_FORMAT, r->store, span, "a dim is expected, found \"%.*s\"",
                              (int)(n - first < 8 ? n - first : 8), line + first);
        dims[(*rank)++] = dim;
        while (i < n && line[i] == ' ')
            i++;
    }
    return NULL;
}

static bt_status build_calls(struct reader *r, bt_builder *b, const bt_value **value)
{
    const char *line;
    size_t n;
    bt_span span;
    while (next_line(r, &line, &n, &span)) {
        const char *op = bt_name(r->store, line, n);
        if (!op)
            return bt_no_memory();
        bt_builder_at(b, span, bt_prov_new(r->store, span));
        if (n)
            BT_TRY(bt_build(b, op, NULL, value, 1, value));
    }
    return NULL;
}

static bt_status build(struct reader *r, bt_builder *b, bt_global *main)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank = 0;
    const bt_param *x;
    const bt_block *block;
    BT_TRY(read_dims(r, dims, &rank));
    BT_TRY(bt_build_param(b, "x", bt_type_tensor_of(r->store, BT_FLOAT32, rank, dims), &x));
    BT_TRY(bt_block_begin(b, 1, &x));
    const bt_value *value = &x->base;
    BT_TRY(build_calls(r, b, &value));
    BT_TRY(bt_block_end(b, value, &block));
    const bt_func fields = { .name = "main", .result = value->type, .block = block };
    BT_TRY(bt_func_create(r->ctx, r->store, &fields, &main->func));
    main->type = bt_func_type_of(r->store, main->func);
    return main->type ? NULL : bt_no_memory();
}

static bt_status build_module(struct reader *r, bt_module **out)
{
    bt_global main = { .name = "main", .kind = BT_GLOBAL_FUNC };
    bt_builder *b;
    bt_module_builder *module;
    BT_TRY(bt_builder_create(r->ctx, r->store, NULL, &b));
    bt_status status = build(r, b, &main);
    bt_builder_destroy(b);
    BT_TRY(status);
    BT_TRY(bt_module_builder_create(r->ctx, r->store, NULL, &module));
    status = bt_module_builder_set(module, &main, 1);
    if (!status)
        return bt_module_builder_finish(module, 1, out);
    bt_module_builder_destroy(module);
    return status;
}

static bt_status import(bt_ctx *ctx, const bt_import_call *call, bt_module **out)
{
    const char *text = call->bytes;
    struct reader r = { .ctx = ctx, .store = bt_store_create(bt_ctx_registry(ctx)),
                        .start = text, .at = text, .end = text + call->nbytes };
    if (!r.store)
        return bt_no_memory();
    bt_status status = bt_store_add_source(ctx, r.store, call->path, text, call->nbytes, &r.source);
    if (!status)
        status = build_module(&r, out);
    bt_store_unref(r.store); /* the module holds it */
    return status;
}

static const bt_importer importers[] = {
    {
        .name = "@name@",
        .doc = "Chains of operators of one argument, a line each.",
        .suffixes = ".chain",
        .probe = probe,
        .import = import,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_IMPORTERS(importers), { 0 } };
