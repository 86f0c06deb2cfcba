/* What baton quantize tells: a table for people, or JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "quantize.h"
#include "scaled.h"

static double decibel(double signal, double noise)
{
    return 10 * log10(signal / noise);
}

static void print_decibel(double signal, double noise)
{
    if (noise > 0 && signal > 0)
        printf("%7.1f dB", decibel(signal, noise));
    else
        printf("%10s", signal > 0 ? "exact" : "-");
}

/* Each constant once, however often it is used. */
static double constants_nbytes(const struct quantize *q, const bt_module *module)
{
    double sum = 0;
    bt_map counted;
    bt_map_init(&counted, bt_ctx_scratch(q->tool->ctx), 0);
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        const bt_block *block = global->func ? global->func->block : NULL;
        for (uint32_t i = 0; block && i < block->nbinding; i++) {
            for (uint32_t k = 0; k < bt_value_noperand(block->bindings[i]); k++) {
                const bt_tensor *t = bt_const_tensor(
                    bt_module_constant(module, bt_value_operand(block->bindings[i], k)));
                if (!t || bt_map_find(&counted, t))
                    continue;
                (void)bt_map_put(&counted, t, (void *)1);
                sum += (double)bt_tensor_nbytes(t);
            }
        }
    }
    return sum;
}

double lost_percent(const struct quantize *q)
{
    const int64_t lost = q->labels ? q->nright[0] - q->nright[1] : q->nrun - q->nsame;
    return q->nrun ? 100.0 * (double)lost / (double)q->nrun : 0;
}

static double right_percent(const struct quantize *q, int program)
{
    return q->nrun ? 100.0 * (double)q->nright[program] / (double)q->nrun : 0;
}

static int widest(const struct quantize *q)
{
    size_t width = strlen("LAYER");
    for (uint32_t i = 0; i < q->nrow; i++)
        width = strlen(q->rows[i].name) > width ? strlen(q->rows[i].name) : width;
    return (int)width;
}

static void print_sites(const struct quantize *q)
{
    const int width = widest(q);
    printf("%-*s  %-14s  %10s\n", width, "SITE", "CODES", "SIGNAL/NOISE");
    for (uint32_t i = 0; i < q->nrow; i++) {
        const struct row *r = &q->rows[i];
        printf("%-*s  %-14s  ", width, r->name, r->is_float ? "float" : r->codes);
        print_decibel(r->signal, r->noise);
        if (r->nbad > 0)
            printf("  %.0f NaN or infinite", r->nbad);
        putchar('\n');
    }
}

static double all_adds(const struct float_search *s, int of_floats)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->nlayer + s->nfixed; i++)
        sum += !of_floats || s->layers[i].is_float ? s->layers[i].nadd : 0;
    return sum;
}

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

/* By its number in the program. */
static const struct float_layer *layer_at(const struct float_search *s, uint32_t place)
{
    const struct float_layer *layer = s->layers;
    while (layer->place != place)
        layer++;
    return layer;
}

/* What the search found. */
static void print_layers(const struct quantize *q)
{
    const struct float_search *s = &q->search;
    const double all = all_adds(s, 0);
    const int width = widest(q);
    const uint32_t n = s->nlayer + s->nfixed;
    uint32_t nfloat = 0;
    printf("\n%-*s  %-14s  %10s  %8s\n", width, "LAYER", "COMPUTES IN", "SIGNAL/NOISE",
           "PRODUCTS");
    for (uint32_t i = 0; i < n; i++) {
        const struct float_layer *l = layer_at(s, i);
        printf("%-*s  %-14s  ", width, l->name, l->is_float ? "float" : "codes");
        print_decibel(l->noise > 0, l->noise);
        printf("  %8.1f %%\n", share(l->nadd, all));
        nfloat += l->is_float != 0;
    }
    printf("%u of %u layers in float, %.1f %% of the products: lost are %.2f %%, at most "
           "%g %% were to be; %lld programs were tried\n\n",
           nfloat, n, share(all_adds(s, 1), all), s->found, q->loss, (long long)s->ndone);
}

/* ---- results that are of no use ---- */

/* Below it codes lose as much as there was. */
enum { LEAST_DECIBEL = 1 };

static int is_lost(double signal, double noise)
{
    return signal > 0 && !(decibel(signal, noise) >= LEAST_DECIBEL);
}

/* Sites whose codes keep next to nothing of the numbers there; *first: of these. */
static uint32_t count_lost(const struct quantize *q, const char **first)
{
    uint32_t n = 0;
    for (uint32_t i = q->nrow; i-- > 0;) {
        const struct row *r = &q->rows[i];
        if (r->is_float || !is_lost(r->signal, r->noise))
            continue;
        *first = r->name;
        n++;
    }
    return n;
}

/* Texts in the scratch arena; NULL where there is nothing to say. */
struct warnings {
    const char *sites, *results;
};

static struct warnings find_warnings(const struct quantize *q)
{
    struct warnings out = { 0 };
    const char *first = "";
    const uint32_t n = count_lost(q, &first);
    if (n)
        out.sites = tool_text(
            q->tool,
            "the codes of %u site%s keep less than %d dB of the numbers "
            "there, %s%s: calibration %s chooses scales that do not fit",
            n, PLURAL(n), LEAST_DECIBEL, n > 1 ? "first " : "", first, q->calibrate);
    if (q->nrun && (is_lost(q->signal, q->noise) || (!q->nsame && !q->labels)))
        out.results =
            tool_text(q->tool,
                      "the results are no longer those of %s: they keep less than "
                      "%d dB, or no sample has its greatest one where it was",
                      q->tool->args[0], LEAST_DECIBEL);
    return out;
}

static int print_table(const struct quantize *q)
{
    char before[SCALED_NBYTES], after[SCALED_NBYTES];
    print_sites(q);
    if (q->has_loss)
        print_layers(q);
    printf("results ");
    print_decibel(q->signal, q->noise);
    printf(", the same greatest one in %lld of %lld samples\n", (long long)q->nsame,
           (long long)q->nrun);
    if (q->labels)
        printf("right in %.2f %%, before in %.2f %%\n", right_percent(q, 1),
               right_percent(q, 0));
    printf("constants %s bytes, before %s\n",
           scaled(constants_nbytes(q, q->integer), after),
           scaled(constants_nbytes(q, q->model), before));
    for (size_t i = 0; i < q->notes.len; i++)
        printf("note: %s: %s\n", q->notes.at[i]->message, q->notes.at[i]->note->message);
    const struct warnings w = find_warnings(q);
    if (w.sites)
        printf("warning: %s\n", w.sites);
    if (w.results)
        printf("warning: %s\n", w.results);
    return EXIT_OK;
}

/* In dB; null where nothing is lost, or nothing is there. */
static json_t *describe_decibel(double signal, double noise)
{
    return signal > 0 && noise > 0 ? json_real(decibel(signal, noise)) : json_null();
}

static json_t *describe_sites(const struct quantize *q)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < q->nrow; i++) {
        const struct row *r = &q->rows[i];
        json_array_append_new(all,
                              json_pack("{s:s, s:s?, s:b, s:o, s:I}", "site", r->name,
                                        "codes", r->codes, "float", r->is_float,
                                        "decibel", describe_decibel(r->signal, r->noise),
                                        "not_finite", (json_int_t)r->nbad));
    }
    return all;
}

static json_t *describe_search(const struct quantize *q)
{
    const struct float_search *s = &q->search;
    json_t *layers = json_array();
    for (uint32_t i = 0; i < s->nlayer + s->nfixed; i++) {
        const struct float_layer *l = layer_at(s, i);
        json_array_append_new(layers, json_pack("{s:s, s:b, s:o, s:I}", "layer", l->name,
                                                "float", l->is_float, "decibel",
                                                describe_decibel(l->noise > 0, l->noise),
                                                "multiply_adds", (json_int_t)l->nadd));
    }
    return json_pack("{s:f, s:f, s:I, s:o}", "wanted_percent", q->loss, "lost_percent",
                     s->found, "trials", (json_int_t)s->ndone, "layers", layers);
}

static json_t *describe_notes(const struct quantize *q)
{
    json_t *all = json_array();
    for (size_t i = 0; i < q->notes.len; i++)
        json_array_append_new(all, json_sprintf("%s: %s", q->notes.at[i]->message,
                                                q->notes.at[i]->note->message));
    return all;
}

static json_t *describe_warnings(const struct quantize *q)
{
    const struct warnings w = find_warnings(q);
    json_t *all = json_array();
    if (w.sites)
        json_array_append_new(all, json_string(w.sites));
    if (w.results)
        json_array_append_new(all, json_string(w.results));
    return all;
}

static int print_object(const struct quantize *q)
{
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "model",
                  q->tool->args[0], "scheme", q->scheme, "calibrate", q->calibrate,
                  "sites", describe_sites(q), "notes", describe_notes(q), "warnings",
                  describe_warnings(q), "decibel", describe_decibel(q->signal, q->noise),
                  "samples", (json_int_t)q->nrun, "same", (json_int_t)q->nsame,
                  "constants_nbytes", (json_int_t)constants_nbytes(q, q->integer),
                  "constants_nbytes_before", (json_int_t)constants_nbytes(q, q->model));
    if (q->labels)
        json_object_update_new(all, json_pack("{s:f, s:f}", "right_percent",
                                              right_percent(q, 1), "right_percent_before",
                                              right_percent(q, 0)));
    if (q->has_loss)
        json_object_set_new(all, "search", describe_search(q));
    return print_json(q->tool, all);
}

int print_report(const struct quantize *q)
{
    return option_value(q->tool, "json") ? print_object(q) : print_table(q);
}
