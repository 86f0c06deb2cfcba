/* Cases like a given one: other dtypes, sizes 0 and 1, and such as no tile divides. */
#include <string.h>

#include "case_vary.h"

static const bt_dtype all_dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type)  BT_##UPPER,
#define BT_PACKED(UPPER, name, class_, bits, carrier) BT_##UPPER,
#define BT_MOVED(UPPER, name, class_, bits, part)     BT_##UPPER,
#include <baton/dtypes.def>
};

/* Plain C takes no packed elements. Of those, types of 4 bits stand for all: tests/random/packed.py
 * has the others. */
static int is_tried(const bt_op *op, bt_dtype dtype)
{
    return !bt_dtype_is_packed(dtype) ||
           (BT_DTYPE_BITS(dtype) == 4 && bt_op_has_formula(op));
}

/* The dtype of an input's pattern: "t:float[..]" is t of a class, "(t[..]*)" t,
 * "int32|int64[]" has no name. */
struct dtype_pattern {
    char name[16], classes[64];
};

static void dtype_pattern(const char *type, struct dtype_pattern *out)
{
    const char *start = type + (*type == '('), *end = strchr(start, '['),
               *colon = strchr(start, ':');
    *out = (struct dtype_pattern){ 0 };
    if (!end)
        return;
    if (colon && colon < end) {
        snprintf(out->name, sizeof(out->name), "%.*s", (int)(colon - start), start);
        start = colon + 1;
    }
    snprintf(out->classes, sizeof(out->classes), "%.*s", (int)(end - start), start);
}

/* Whether `text` is a class, and which. 0: a name, or a list of dtypes. */
static uint32_t class_bits(const char *text)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } classes[] = {
        { "bool", BT_CLASS_BITS_BOOL },       { "int", BT_CLASS_BITS_INT },
        { "uint", BT_CLASS_BITS_UINT },       { "float", BT_CLASS_BITS_FLOAT },
        { "integer", BT_CLASS_BITS_INTEGER }, { "number", BT_CLASS_BITS_NUMBER },
        { "any", BT_CLASS_BITS_ANY }
    };
    for (uint32_t i = 0; i < BT_COUNT(classes); i++) {
        if (strcmp(text, classes[i].name) == 0)
            return classes[i].bits;
    }
    return 0;
}

static int takes(const struct dtype_pattern *p, bt_dtype dtype)
{
    uint32_t bits = class_bits(p->classes);
    char name[BT_DTYPE_NAME_SIZE];
    if (bits)
        return (bits >> BT_DTYPE_CLASS(dtype) & 1) != 0;
    if (bt_dtype_parse(p->classes, strcspn(p->classes, "|")) == 0)
        return !bt_dtype_is_moved(dtype); // a bare name: any to compute with
    bt_dtype_name(dtype, name, sizeof(name));
    for (const char *at = p->classes; *at;
         at += at[strcspn(at, "|")] == '|' ? strcspn(at, "|") + 1 : strcspn(at, "|")) {
        if (strncmp(at, name, strlen(name)) == 0 && strcspn(at, "|") == strlen(name))
            return 1;
    }
    return 0;
}

/* What two inputs have in common when they must be of one dtype. */
static const char *variable(const struct dtype_pattern *p)
{
    int is_bare = !*p->name && !class_bits(p->classes) &&
                  bt_dtype_parse(p->classes, strcspn(p->classes, "|")) == 0;
    return is_bare ? p->classes : p->name;
}

static bt_status use_with_dtype(const struct call_case *base,
                                const struct dtype_pattern *patterns, uint32_t of,
                                bt_dtype dtype, vary_use_fn *use, void *self)
{
    struct call_case c = *base;
    const char *name = variable(&patterns[of]);
    for (uint32_t i = 0; i < c.narg; i++) {
        int is_same = i == of || (*name && strcmp(variable(&patterns[i]), name) == 0);
        // fields of a tuple without a name for their dtype are free of each other
        uint32_t n = c.args[i].nleaf && !*name ? 1 : c.args[i].nleaf;
        for (uint32_t k = 0; is_same && k < n; k++) {
            struct case_leaf *leaf = &c.leaves[c.args[i].first + k];
            leaf->dtype = dtype;
            if (!case_has_values(leaf))
                return NULL;
        }
    }
    return use(self, "dtype", &c);
}

static bt_status vary_dtypes(struct op_check *w, const struct call_case *base,
                             vary_use_fn *use, void *self)
{
    struct dtype_pattern patterns[CASE_MAX_LEAF];
    if (w->op->formula_attr)
        return NULL; // the call's own formula says what it takes
    for (uint32_t i = 0; i < base->narg; i++)
        dtype_pattern(bt_op_input_at(w->op, i)->type, &patterns[i]);
    for (uint32_t i = 0; i < base->narg; i++) {
        const char *name = variable(&patterns[i]);
        int is_first = base->args[i].nleaf > 0;
        for (uint32_t k = 0; *name && k < i; k++)
            is_first &= strcmp(variable(&patterns[k]), name) != 0;
        for (uint32_t d = 0; is_first && d < BT_COUNT(all_dtypes); d++) {
            if (is_tried(w->op, all_dtypes[d]) &&
                all_dtypes[d] != base->leaves[base->args[i].first].dtype &&
                takes(&patterns[i], all_dtypes[d]))
                BT_TRY(use_with_dtype(base, patterns, i, all_dtypes[d], use, self));
        }
    }
    return NULL;
}

/* Every axis of that size becomes another. */
static bt_status use_with_size(const struct call_case *base, int64_t size, int64_t by,
                               vary_use_fn *use, void *self)
{
    struct call_case c = *base;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c.nleaf; i++) {
        for (uint32_t k = 0; k < c.leaves[i].rank; k++) {
            if (c.leaves[i].dims[k] == size) {
                c.leaves[i].dims[k] = by;
                n++;
            }
        }
    }
    return n > 1 ? use(self, "size", &c) : NULL;
}

static bt_status vary_sizes(const struct call_case *base, vary_use_fn *use, void *self)
{
    int64_t seen[CASE_MAX_LEAF * CASE_MAX_DIM];
    uint32_t nseen = 0;
    for (uint32_t i = 0; i < base->nleaf; i++) {
        for (uint32_t k = 0; k < base->leaves[i].rank; k++) {
            int64_t size = base->leaves[i].dims[k];
            uint32_t at = 0;
            for (int64_t by = 0; by < 2; by++) {
                struct call_case c = *base;
                c.leaves[i].dims[k] = by;
                if (size != by)
                    BT_TRY(use(self, "size", &c));
            }
            while (at < nseen && seen[at] != size)
                at++;
            if (at < nseen)
                continue;
            seen[nseen++] = size;
            for (int64_t by = 0; by < 2; by++) {
                if (size != by)
                    BT_TRY(use_with_size(base, size, by, use, self));
            }
        }
    }
    return NULL;
}

/* ---- larger sizes ---- */

/* Of a tensor, as the evaluator takes its time; a prime beyond what a tile or a block has. */
enum { MAX_ELEMENTS = 1 << 15, LARGE = 1031 };

/* In the place of a case's sizes, by their order, so that a window stays smaller than its image. */
static const int64_t odd_sizes[] = { 5, 9, 17, 33, 70 };

/* Where values are listed there is one for each element. */
static int has_list(const struct case_leaf *leaf)
{
    return leaf->values && strchr(leaf->values, ',');
}

static bt_status use_larger(struct call_case *c, vary_use_fn *use, void *self)
{
    c->expected = NULL;
    for (uint32_t i = 0; i < c->nleaf; i++) {
        if (case_nelem(&c->leaves[i]) > MAX_ELEMENTS)
            return NULL;
    }
    return use(self, "larger", c);
}

/* The sizes above 1, from the least on. */
static uint32_t sizes_of(const struct call_case *c, int64_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nleaf; i++) {
        for (uint32_t k = 0; k < c->leaves[i].rank; k++) {
            const int64_t size = c->leaves[i].dims[k];
            uint32_t at = n;
            while (at > 0 && out[at - 1] >= size)
                at--;
            if (size < 2 || (at < n && out[at] == size))
                continue;
            for (uint32_t to = n++; to > at; to--)
                out[to] = out[to - 1];
            out[at] = size;
        }
    }
    return n;
}

static void replace_size(struct call_case *c, const struct call_case *base, int64_t size,
                         int64_t by)
{
    for (uint32_t i = 0; i < c->nleaf; i++) {
        for (uint32_t k = 0; !has_list(&c->leaves[i]) && k < c->leaves[i].rank; k++) {
            if (base->leaves[i].dims[k] == size)
                c->leaves[i].dims[k] = by;
        }
    }
}

/* The axis of that number, over all leaves, is large. */
static int enlarge_axis(struct call_case *c, uint32_t number)
{
    for (uint32_t i = 0; i < c->nleaf; number -= c->leaves[i++].rank) {
        if (number < c->leaves[i].rank) {
            c->leaves[i].dims[number] = LARGE;
            return !has_list(&c->leaves[i]);
        }
    }
    return 0;
}

bt_status vary_larger(const struct call_case *base, uint32_t start, vary_use_fn *use,
                      void *self)
{
    int64_t sizes[CASE_MAX_LEAF * CASE_MAX_DIM];
    const uint32_t n = sizes_of(base, sizes);
    uint32_t naxis = 0;
    struct call_case c = *base;
    for (uint32_t i = 0; i < n; i++)
        replace_size(&c, base, sizes[i],
                     i < BT_COUNT(odd_sizes) ? odd_sizes[i] : 71 + (int64_t)i);
    if (n)
        BT_TRY(use_larger(&c, use, self));
    for (uint32_t i = 0; i < base->nleaf; i++)
        naxis += base->leaves[i].rank;
    for (uint32_t i = 0; i < n + naxis; i++) {
        const uint32_t which = (start + i) % (n + naxis);
        c = *base;
        if (which < n)
            replace_size(&c, base, sizes[which], LARGE);
        if (which < n || enlarge_axis(&c, which - n))
            BT_TRY(use_larger(&c, use, self));
    }
    return NULL;
}

bt_status vary(struct op_check *w, const struct call_case *base, vary_use_fn *use,
               void *self)
{
    BT_TRY(vary_dtypes(w, base, use, self));
    return vary_sizes(base, use, self);
}

bt_status vary_all(struct op_check *w, vary_use_fn *use, void *self)
{
    const void *facet;
    struct call_case c;
    int is_case;
    BT_TRY(bt_op_facet(w->ctx, w->op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    for (;;) {
        BT_TRY(case_next(w->ctx, w->arena, w->op->name, &text, &c, &is_case));
        if (!is_case)
            return NULL;
        BT_TRY(use(self, "case", &c));
        BT_TRY(vary(w, &c, use, self));
    }
}
