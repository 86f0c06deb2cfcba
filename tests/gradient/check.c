/*
 * Derivatives of every operator over floats.
 *
 *     gradient_check PLUGINS PLUGIN [OPERATOR [--all]]
 *
 * At every case of the plugin's operators (with --all also at those made from it, case_vary.h)
 * what gradient.h states must hold. Operators that are excepted, exceptions.def, must be so for
 * the reason that stands there, and no others may be. OPERATOR may be "".
 */
#include <stdio.h>
#include <string.h>

#include "case_vary.h"
#include "gradient.h"

enum { NONE, INSTEAD, CLOSED, NKIND };
static const struct exception {
    uint32_t kind;
    const char *op, *reason;
} exceptions[] = {
#define EXCEPTION(kind, op, reason) { kind, op, reason },
#include "exceptions.def"
};

struct run {
    struct op_check w;
    struct gradient_tally tally;
    uint32_t is_all, nmore; /* of cases without floats: types are tried that have some */
};

static bt_status check_case(struct run *r, const struct call_case *c)
{
    BT_TRY(gradient_check(&r->w, c, &r->tally));
    bt_ctx_clear_diags(r->w.ctx);
    return NULL;
}

/* A case that was made. */
static bt_status use(void *self, const char *kind, const struct call_case *c)
{
    struct run *r = self;
    r->tally.may_refuse = 1;
    int is_float = strcmp(kind, "dtype") == 0;
    for (uint32_t i = 0; !r->is_all && i < c->nleaf; i++)
        is_float &=
            !bt_dtype_is_float(c->leaves[i].dtype) || c->leaves[i].dtype == BT_FLOAT64;
    return r->is_all || is_float ? check_case(r, c) : NULL;
}

static bt_status run_cases(struct run *r, int is_varied)
{
    const void *facet;
    struct call_case c;
    int is_case;
    BT_TRY(bt_op_facet(r->w.ctx, r->w.op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    for (;;) {
        BT_TRY(case_next(r->w.ctx, r->w.arena, r->w.op->name, &text, &c, &is_case));
        if (!is_case)
            return NULL;
        BT_TRY(is_varied ? vary(&r->w, &c, use, r) : check_case(r, &c));
    }
}

/* An exception is what the list says, no more and no less. */
static uint32_t check_exceptions(const char *op, const struct gradient_tally *tally)
{
    static const char *const words[] = { "it has no derivative",
                                         "what it has is not the derivative",
                                         "it has none with dims" };
    const char *const is[NKIND] = { tally->none, tally->instead, tally->closed };
    const char *listed[NKIND] = { 0 };
    uint32_t nwrong = 0;
    for (uint32_t i = 0; i < BT_COUNT(exceptions); i++) {
        if (strcmp(exceptions[i].op, op) == 0)
            listed[exceptions[i].kind] = exceptions[i].reason;
    }
    for (uint32_t k = 0; k < NKIND; k++) {
        if (is[k] && listed[k] && strstr(is[k], listed[k])) {
            printf("%s: %s: %s\n", op, words[k], is[k]);
        } else if (is[k] || listed[k]) {
            printf("%s: %s: %s; exceptions.def says %s\n", op, words[k],
                   is[k] ? is[k] : "no", listed[k] ? listed[k] : "nothing of it");
            nwrong++;
        }
    }
    return nwrong;
}

static uint32_t run_op(bt_ctx *ctx, const char *name, int is_all,
                       struct gradient_tally *tally)
{
    struct run r = { .w = { .ctx = ctx, .faults = json_array() },
                     .is_all = (uint32_t)is_all };
    r.w.store = bt_store_create(bt_ctx_registry(ctx));
    r.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !r.w.store || !r.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &r.w.op);
    if (!status)
        status = run_cases(&r, 0);
    if (!status && (is_all || !r.tally.ncase))
        status = run_cases(&r, 1);
    uint32_t nwrong =
        (uint32_t)json_array_size(r.w.faults) + check_exceptions(name, &r.tally);
    for (size_t i = 0; i < json_array_size(r.w.faults); i++)
        printf("%s\n", json_string_value(json_array_get(r.w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    // a point in five may be at a kink
    if (r.tally.nredrawn * 5 > r.tally.npoint + 5) {
        printf("%s: %u points of %u were at kinks\n", name, r.tally.nredrawn,
               r.tally.npoint);
        nwrong++;
    }
    *tally = r.tally;
    json_decref(r.w.faults);
    bt_store_unref(r.w.store);
    bt_arena_destroy(r.w.arena);
    return nwrong + (status != NULL);
}

static int run(bt_ctx *ctx, const char *plugin, const char *only, int is_all)
{
    uint32_t nop = 0, nfloat = 0, nhas = 0, nwrong = 0;
    struct gradient_tally sum = { 0 };
    bt_status status = bt_plugins_scan(ctx);
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        struct gradient_tally t = { 0 };
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (*only && strcmp(item.name, only) != 0))
            continue;
        nwrong += run_op(ctx, item.name, is_all, &t) > 0;
        nop++;
        nhas += t.ncase && !t.none;
        nfloat += t.ncase || t.none;
        sum.ncase += t.ncase;
        sum.nsmall += t.nsmall;
        sum.nopen += t.nopen;
        sum.npoint += t.npoint;
        sum.nredrawn += t.nredrawn;
    }
    if (status)
        printf("%s\n", status->message);
    printf("%u of %u operators over floats have a derivative, of %u in all\n"
           "%u cases, %u in fewer bits, %u with dims; %u of %u points drawn again\n"
           "%u operators with faults\n",
           nhas, nfloat, nop, sum.ncase, sum.nsmall, sum.nopen, sum.nredrawn, sum.npoint,
           nwrong);
    return status || nwrong || nop == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("usage: gradient_check PLUGINS PLUGIN [OPERATOR [--all]]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    const int failed = ctx ? run(ctx, argv[2], argc > 3 ? argv[3] : "", argc > 4) : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
