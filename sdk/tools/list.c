/* baton list: what the plugins provide, from their manifests alone. */
#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include <baton/cpu.h>
#include <baton/onnx.h>
#include <baton/pass.h>

#include "library_outline.h"
#include "list_choices.h"
#include "list_gradient.h"
#include "slots.h"
#include "verbs.h"

static const struct listing {
    const char *word, *kind;
    const char *interface; /* NULL: they are no rows of tables */
} listings[] = {
    { "ops", "op", "baton.op/1" },
    { "relations", "relation", "baton.relation/1" },
    { "passes", "pass", "baton.pass/1" },
    { "rules", "rule", "baton.rule/1" },
    { "analyses", "analysis", "baton.analysis/1" },
    { "pipelines", "pipeline", NULL },
    { "libraries", "library", NULL },
    { "executors", "executor", "baton.executor/1" },
    { "importers", "importer", "baton.importer/1" },
    { "onnx", BT_ONNX_INTERFACE, BT_ONNX_INTERFACE },
    { "exports", BT_ONNX_WRITTEN, BT_ONNX_WRITTEN },
    { "compilers", "compiler", "baton.compiler/1" },
    { "targets", "target", "baton.target/1" },
    { "ways", BT_CPU_WAY_INTERFACE, BT_CPU_WAY_INTERFACE },
    { "schemes", "scheme", "quant.scheme/1" },
    { "calibrations", "calibrate", "quant.calibrate/1" },
};

/* ---- one line each ---- */

static int list_all(struct tool *tool, const char *kind)
{
    uint32_t n = bt_provided_len(tool->ctx, kind);
    int width = 0;
    bt_provided item;
    for (uint32_t i = 0; i < n; i++) {
        TRY_TOOL(tool, bt_provided_at(tool->ctx, kind, i, &item));
        width = (int)strlen(item.name) > width ? (int)strlen(item.name) : width;
    }
    for (uint32_t i = 0; i < n; i++) {
        TRY_TOOL(tool, bt_provided_at(tool->ctx, kind, i, &item));
        const char *doc = item.doc && *item.doc ? item.doc : bt_plugin_id(item.plugin);
        printf("%-*s  %.*s\n", width, item.name, (int)strcspn(doc, "\n"), doc);
    }
    return EXIT_OK;
}

static int list_json(struct tool *tool, const char *kind)
{
    uint32_t n = bt_provided_len(tool->ctx, kind);
    bt_provided item;
    printf("[");
    for (uint32_t i = 0; i < n; i++) {
        TRY_TOOL(tool, bt_provided_at(tool->ctx, kind, i, &item));
        printf("%s%s", i ? ",\n" : "", item.json);
    }
    printf("]\n");
    return EXIT_OK;
}

/* ---- one in full ---- */

static const char *text_of(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));
    return text ? text : "";
}

/* "1 to 4", "at least 1", "" */
static void print_range(const json_t *row)
{
    const json_t *low = json_object_get(row, "low"), *high = json_object_get(row, "high");
    long long a = (long long)json_integer_value(low),
              b = (long long)json_integer_value(high);
    if (low && high && b < INT32_MAX)
        printf(", %lld to %lld", a, b);
    else if (low)
        printf(", at least %lld", a);
    if (json_object_get(row, "choices"))
        printf(", one of %s", text_of(row, "choices"));
}

static int name_width(const json_t *rows)
{
    size_t width = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        size_t n = strlen(text_of(json_array_get(rows, i), "name"));
        width = n > width ? n : width;
    }
    return (int)width;
}

/* Options are written with dashes, as in pipelines. */
static void print_name(const char *name, int width, int is_option)
{
    printf("  ");
    for (const char *c = name; *c; c++)
        putchar(is_option && *c == '_' ? '-' : *c);
    printf("%*s  ", width - (int)strlen(name), "");
}

static void print_rows(const json_t *item, const char *key, const char *title)
{
    const json_t *rows = json_object_get(item, key);
    int width = name_width(rows);
    if (json_array_size(rows))
        printf("\n%s\n", title);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *kind =
            *text_of(row, "kind") ? text_of(row, "kind") : text_of(row, "type");
        print_name(text_of(row, "name"), width, strcmp(key, "options") == 0);
        printf("%s", kind);
        if (json_object_get(row, "default"))
            printf(", default %s",
                   *text_of(row, "default") ? text_of(row, "default") : "\"\"");
        print_range(row);
        printf("\n  %*s    %s\n", width, "", text_of(row, "doc"));
    }
}

static void print_words(const json_t *item, const char *key, const char *title)
{
    const json_t *words = json_object_get(item, key);
    if (!words)
        return;
    printf("%-9s", title);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        printf(" %s",
               json_is_string(word) ? json_string_value(word) : text_of(word, "facet"));
    }
    if (json_is_string(words))
        printf(" %s", json_string_value(words));
    printf("\n");
}

/* Facets that other plugins add to an operator. */
static int print_added(struct tool *tool, const char *op)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "facet"); i++) {
        bt_provided found;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "facet", i, &found));
        json_t *item = json_loads(found.json, 0, NULL);
        if (!item)
            return tool_fail(tool, bt_no_memory());
        if (strcmp(text_of(item, "op"), op) == 0)
            printf("%-9s %s, by %s\n", "added", text_of(item, "facet"),
                   bt_plugin_id(found.plugin));
        json_decref(item);
    }
    return EXIT_OK;
}

/* What a rule promises of its two sides. */
static void print_promise(const json_t *rule)
{
    const json_t *ulp = json_object_get(rule, "ulp"),
                 *from = json_object_get(rule, "from"), *to = json_object_get(rule, "to");
    if (!json_object_get(rule, "rule"))
        return;
    if (ulp)
        printf("promise   floats differ by %lld ulp of 1 + |result| at most",
               (long long)json_integer_value(ulp));
    else
        printf("promise   equal");
    if (from && to)
        printf(", for floats from %g to %g%s\n", json_number_value(from),
               json_number_value(to), ulp ? ", where the result is not infinite" : "");
    else
        printf(", for all values, NaN and infinities too\n");
}

static int print_item(struct tool *tool, const char *kind, const bt_provided *found)
{
    json_t *item = json_loads(found->json, 0, NULL);
    if (!item)
        return tool_fail(tool, bt_no_memory());
    printf("%s (%s)\n%s%s", found->name, bt_plugin_id(found->plugin),
           text_of(item, "doc"), *text_of(item, "doc") ? "\n" : "");
    print_rows(item, "inputs", "Inputs:");
    print_rows(item, "attrs", "Attributes:");
    print_rows(item, "options", "Options:");
    printf("\n");
    for (size_t i = 0; i < json_array_size(json_object_get(item, "patterns")); i++)
        printf("claims    %s\n",
               json_string_value(json_array_get(json_object_get(item, "patterns"), i)));
    print_words(item, "pass", "pass");
    print_words(item, "rule", "rule");
    print_promise(item);
    print_words(item, "effects", "effects");
    print_words(item, "needs", "needs");
    print_words(item, "keeps", "keeps");
    print_words(item, "gives", "gives");
    print_words(item, "facets", "facets");
    int code = strcmp(kind, "op") == 0 ? print_added(tool, found->name) : EXIT_OK;
    print_words(item, "relation", "relation");
    print_words(item, "computes", "computes");
    print_words(item, "source", "source");
    if (json_object_get(item, "level"))
        printf("%-9s %lld\n", "level",
               (long long)json_integer_value(json_object_get(item, "level")));
    json_decref(item);
    return strcmp(kind, "library") == 0 ? print_library(tool, found) : code;
}

static int fail_pipeline(struct tool *tool, const char *name)
{
    bt_pipeline *pipeline;
    TRY_TOOL(tool, bt_pipeline_read(tool->ctx, name, &pipeline));
    bt_pipeline_destroy(pipeline); // the name of a pass, which is a pipeline of one
    return tool_fail(tool, bt_fail(tool->ctx, BT_ERR_NAME,
                                   "no pipeline is named \"%s\"; baton list pipelines "
                                   "shows all",
                                   name));
}

/* The error for a name that no plugin provides: the nearest names, and where to look.
 */
static int fail_unknown(struct tool *tool, const struct listing *listing,
                        const char *name)
{
    const void *row;
    if (strcmp(listing->kind, "pipeline") == 0)
        return fail_pipeline(tool, name);
    if (listing->interface)
        TRY_TOOL(tool, bt_registry_row(tool->ctx, listing->interface, name, 0, &row));
    return tool_fail(tool, bt_fail(tool->ctx, BT_ERR_NAME,
                                   "there is no %s %s; baton list %s shows all",
                                   listing->kind, name, listing->word));
}

static int list_one(struct tool *tool, const struct listing *listing, const char *name)
{
    uint32_t n = bt_provided_len(tool->ctx, listing->kind), found = 0;
    bt_provided item;
    for (uint32_t i = 0; i < n; i++) {
        TRY_TOOL(tool, bt_provided_at(tool->ctx, listing->kind, i, &item));
        if (strcmp(item.name, name) != 0)
            continue;
        found++;
        if (option_value(tool, "gradient"))
            return list_gradient(tool, name);
        if (option_value(tool, "json"))
            printf("%s\n", item.json);
        else if (print_item(tool, listing->kind, &item))
            return EXIT_FAULT;
    }
    if (found)
        return EXIT_OK;
    return fail_unknown(tool, listing, name);
}

/* A word that was meant begins as it was written: four letters, or all that a name has. */
static void see_meant(const char *given, const char *name, const char *word,
                      size_t *longest, const char **meant)
{
    const size_t all = strlen(name);
    size_t n = 0;
    while (n < all && tolower((unsigned char)given[n]) == name[n])
        n++;
    if (n >= (all < 4 ? all : 4) && n > *longest) {
        *longest = n;
        *meant = word;
    }
}

/* "op", "operators", "Passes": which word was meant, or all that there are. */
static int fail_word(struct tool *tool, const char *word)
{
    const char *meant = NULL;
    size_t longest = 0;
    bt_text all;
    bt_text_init(&all, bt_ctx_scratch(tool->ctx));
    for (uint32_t i = 0; i < BT_COUNT(listings); i++) {
        see_meant(word, listings[i].kind, listings[i].word, &longest, &meant);
        bt_text_addf(&all, "%s%s", i ? ", " : "", listings[i].word);
    }
    for (uint32_t i = 0; choices_word(i); i++) {
        see_meant(word, choices_word(i), choices_word(i), &longest, &meant);
        bt_text_addf(&all, ", %s", choices_word(i));
    }
    if (meant)
        return tool_usage(tool, "there is nothing called %s to list; did you mean %s?",
                          word, meant);
    bt_text_addf(&all, ", slots");
    if (!bt_text_get(&all))
        return tool_fail(tool, bt_no_memory());
    return *word ? tool_usage(tool, "there is nothing called %s to list; there are %s",
                              word, all.at)
                 : tool_usage(tool, "KIND is missing; there are %s", all.at);
}

static int run(struct tool *tool)
{
    TRY_TOOL(tool, bt_plugins_scan(tool->ctx));
    if (!tool->narg)
        return fail_word(tool, "");
    if (strcmp(tool->args[0], "slots") == 0 && tool->narg == 1)
        return list_slots(tool);
    for (uint32_t i = 0; choices_word(i); i++) {
        if (strcmp(choices_word(i), tool->args[0]) == 0)
            return list_choices(tool, i, tool->args[1]);
    }
    for (uint32_t i = 0; i < BT_COUNT(listings); i++) {
        if (strcmp(listings[i].word, tool->args[0]) != 0)
            continue;
        if (option_value(tool, "gradient") && (tool->narg != 2 || i != 0))
            return tool_usage(
                tool, "--gradient is of an operator: baton list ops NAME --gradient");
        if (tool->narg == 2)
            return list_one(tool, &listings[i], tool->args[1]);
        return option_value(tool, "json") ? list_json(tool, listings[i].kind)
                                          : list_all(tool, listings[i].kind);
    }
    return fail_word(tool, tool->args[0]);
}

static const struct option options[] = {
    { "gradient", 0, NULL, "print a program of an operator's derivative" },
    { "json", 0, NULL, "print what the manifests say" },
    { 0 },
};

const struct verb verb_list = {
    .name = "list",
    .args = "KIND [NAME]",
    .max_arg = 2,
    .doc = "List what plugins provide, or document one of it.",
    // clang-format off
    .details = "KIND is ops, relations, rules, passes, analyses, pipelines, libraries, slots,\n"
               "executors, importers, onnx (operators of ONNX models), exports (operators of\n"
               "which ONNX files are written), compilers, targets,\n"
               "ways (to compute on target cpu), schemes or calibrations (of quantization),\n"
               "losses, optimizers, schedules or initializers (of training).\n"
               "Reads manifests only, and the text of a library; no plugin is opened. With\n"
               "--gradient, ops NAME opens it and shows the adjoints of its first case.",
    .examples = "  baton list targets\n"
                "  baton list ops nn.dense\n"
                "  baton list ops nn.softmax --gradient\n"
                "  baton list libraries list",
    // clang-format on
    .options = options,
    .run = run,
};
