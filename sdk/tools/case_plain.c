/* A case by the facet "plain": what programs that are written as C compute must be what the
 * evaluator does, where the function is asked for sizes first and where these are known.
 * A facet that is text alone is compiled. */
#include <baton/compiler.h>
#include <baton/op.h>
#include <baton/plain.h>

#include "case_run.h"

struct plain_run {
    struct op_check *w;
    const struct call_case *c;
    const struct call_result *r;
    const bt_plain_facet *facet;
    bt_plain_fn *function;
    bt_plain_call call;
    bt_plain_tensor in[CASE_MAX_LEAF], out[CALL_MAX_OUT];
    int64_t dims[CASE_MAX_LEAF + CALL_MAX_OUT][BT_MAX_RANK];
    int64_t attrs[BT_PLAIN_ATTRS];
};

static bt_plain_tensor tensor_of(const bt_tensor *t, int64_t *dims)
{
    for (uint32_t k = 0; k < t->rank; k++)
        dims[k] = t->dims[k];
    return (bt_plain_tensor){ t->data, dims, t->rank, (uint32_t)bt_dtype_nbytes(t->dtype),
                              (uint32_t)bt_plain_kind(t->dtype) };
}

/* Whether the function gives no fault; the evaluator gave none. */
static int runs(struct plain_run *p)
{
    const int32_t fault = p->function(&p->call);
    int32_t ntext = 0;
    while (p->facet->faults && p->facet->faults[ntext])
        ntext++;
    if (fault < 0 || fault > ntext)
        case_fault(p->w, p->c, "its facet plain gives fault %d, and has texts of %d",
                   (int)fault, (int)ntext);
    else if (fault)
        case_fault(p->w, p->c, "its facet plain fails: %s", p->facet->faults[fault - 1]);
    return !fault;
}

/* Asks for the dims of the results. */
static int check_sizes(struct plain_run *p)
{
    p->call.is_sizing = 1;
    for (uint32_t i = 0; i < p->r->nout; i++) {
        for (uint32_t k = 0; k < p->out[i].rank; k++)
            p->out[i].dims[k] = -1;
    }
    if (!runs(p))
        return 0;
    for (uint32_t i = 0; i < p->r->nout; i++) {
        for (uint32_t k = 0; k < p->out[i].rank; k++) {
            if (p->out[i].dims[k] == p->r->out[i]->dims[k])
                continue;
            case_fault(p->w, p->c,
                       "its facet plain gives axis %u of result %u the extent %lld, the "
                       "evaluator %lld",
                       k, i, (long long)p->out[i].dims[k],
                       (long long)p->r->out[i]->dims[k]);
            return 0;
        }
    }
    return 1;
}

/* Asks for the elements. */
static bt_status check_elements(struct plain_run *p, int is_sized)
{
    const int has_formula = bt_op_has_formula(p->w->op);
    bt_tensor *out[CALL_MAX_OUT] = { 0 };
    bt_status status = NULL;
    p->call.is_sizing = 0;
    p->call.is_sized = is_sized != 0;
    for (uint32_t i = 0; !status && i < p->r->nout; i++) {
        const bt_tensor *like = p->r->out[i];
        status =
            bt_tensor_create(p->w->ctx, like->dtype, like->rank, like->dims, &out[i]);
        if (!status)
            p->out[i] = tensor_of(out[i], p->dims[CASE_MAX_LEAF + i]);
    }
    const int is_done = !status && runs(p);
    for (uint32_t i = 0; i < p->r->nout; i++) {
        const double tolerance = has_formula ? case_tolerance(p->r->out[i]) : 0;
        if (is_done && !case_is_equal(p->w, out[i], p->r->out[i], tolerance))
            case_fault(p->w, p->c,
                       "its facet plain gives another result %u than the evaluator%s", i,
                       is_sized ? "" : ", where it is not asked for sizes before");
        bt_tensor_unref(out[i]);
    }
    return status;
}

static bt_status run(struct plain_run *p)
{
    bt_registry *registry = bt_ctx_registry(p->w->ctx);
    size_t nbytes = 0;
    if (p->facet->workspace && p->r->in[0]->nelem &&
        (!bt_mul_size((size_t)p->r->in[0]->dims[p->attrs[0]], p->facet->workspace,
                      &nbytes) ||
         !(p->call.workspace = bt_realloc(registry, NULL, 0, nbytes))))
        return bt_no_memory();
    bt_status status = NULL;
    if (check_sizes(p))
        status = check_elements(p, 1);
    if (!status && !json_array_size(p->w->faults))
        status = check_elements(p, 0);
    bt_free(registry, p->call.workspace, nbytes);
    return status;
}

/* ---- text alone ---- */

static bt_status compile(struct op_check *w, const bt_plain_facet *facet, bt_code **out)
{
    const char *folders[2] = { NULL, NULL };
    bt_text text, object;
    bt_text_init(&text, w->arena);
    bt_text_init(&object, w->arena);
    BT_TRY(bt_library_file(w->ctx, w->arena, "include", &folders[0]));
    bt_text_addf(&text, "#include <baton/convert.h>\n#include <baton/plain.h>\n");
    for (uint32_t i = 0; facet->blocks[i]; i++)
        bt_text_addf(&text, "\n%s", facet->blocks[i]);
    // functions of the text are static
    bt_text_addf(&text,
                 "\nint32_t call_plain(const bt_plain_call *call);\n"
                 "int32_t call_plain(const bt_plain_call *call)\n"
                 "{\n    return %s(call);\n}\n",
                 facet->symbol);
    if (!bt_text_get(&text))
        return bt_no_memory();
    const bt_c_source source = {
        .name = facet->symbol, .text = text.at, .nbytes = text.len, .folders = folders
    };
    BT_TRY(bt_c_compile(w->ctx, NULL, NULL, &source, &object));
    const bt_code_object part = { facet->symbol, object.at, object.len };
    return bt_code_load(w->ctx, 1, &part, NULL, out);
}

/* Text that no compiler takes is a fault; without any compiler it is not looked at. */
static bt_status run_text(struct plain_run *p)
{
    bt_code *code = NULL;
    if (!p->facet->blocks || !p->facet->symbol) {
        case_fault(p->w, p->c, "its facet plain has no text");
        return NULL;
    }
    bt_status status = compile(p->w, p->facet, &code);
    if (status && status->code == BT_ERR_PLUGIN) {
        bt_remark(p->w->ctx, BT_REMARK_NOTE, status);
        return NULL;
    }
    if (status && status->code != BT_ERR_MEMORY) {
        case_fault(p->w, p->c, "its facet plain: %s", case_message(p->w, status));
        return NULL;
    }
    if (!status) {
        p->function = (bt_plain_fn *)bt_code_find(code, "call_plain");
        status = run(p);
    }
    bt_code_unload(code);
    return status;
}

bt_status call_run_plain(struct op_check *w, const struct call_case *c,
                         const struct call_result *r)
{
    const void *facet;
    bt_formula_call formula;
    BT_TRY(bt_op_facet(w->ctx, w->op, "plain", &facet));
    struct plain_run p = { .w = w, .c = c, .r = r, .facet = facet };
    if (!facet)
        return NULL;
    p.function = p.facet->run;
    p.call = (bt_plain_call){
        .nin = r->nin, .nout = r->nout, .in = p.in, .out = p.out, .attrs = p.attrs
    };
    BT_TRY(bt_call_formula(w->arena, r->call, &formula));
    bt_status status = p.facet->attrs ? p.facet->attrs(w->ctx, &formula, p.attrs) : NULL;
    if (status && status->code == BT_ERR_UNSUPPORTED)
        return NULL; // it says that it does not do this call
    if (status && status->code != BT_ERR_MEMORY) {
        case_fault(w, c, "its facet plain: %s", case_message(w, status));
        return NULL;
    }
    BT_TRY(status);
    if (p.facet->workspace &&
        (!r->nin || p.attrs[0] < 0 || p.attrs[0] >= r->in[0]->rank)) {
        case_fault(w, c,
                   "its facet plain has a workspace for an axis, but attrs[0], %lld, is "
                   "none of argument 0",
                   (long long)p.attrs[0]);
        return NULL;
    }
    for (uint32_t i = 0; i < r->nin; i++)
        p.in[i] = tensor_of(r->in[i], p.dims[i]);
    for (uint32_t i = 0; i < r->nout; i++)
        p.out[i] = tensor_of(r->out[i], p.dims[CASE_MAX_LEAF + i]);
    return p.function ? run(&p) : run_text(&p);
}
