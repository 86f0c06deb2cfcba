/*
 * The interfaces that the kernel knows: for each, what a row must hold, how its manifest
 * item reads, and what the item may hold. Passes, rules, analyses, executors, importers,
 * compilers, targets, schemes, calibrations and pipelines; operators, relations and facets
 * are in operators.c.
 */
#include <stdio.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/executor.h>
#include <baton/importer.h>
#include <baton/quantize.h>
#include <baton/target.h>

#include "kinds/kinds.h"
#include "pass/call_pattern.h"
#include "pass/pipeline.h"

const bt__shape bt__doc_shape = { .kinds = BT__JSON_STRING,
                                  .what = "a sentence",
                                  .accepts = bt__is_filled };

static int is_word(const char *text)
{
    return bt__is_name(text) || strcmp(text, "*") == 0;
}
static const bt__shape word_shape = { .kinds = BT__JSON_STRING,
                                      .what = "a name, or \"*\" for everything",
                                      .accepts = is_word };
static const bt__shape words_shape = { .kinds = BT__JSON_LIST, .items = &word_shape };

/* ---- passes ---- */

static const char *check_words(bt_arena *arena, const char *member, const char *words)
{
    char word[130];
    for (words = words ? words : ""; *words;) {
        size_t n = strcspn(words, " ");
        snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word)),
                 words);
        if (n > 0 && !is_word(word))
            return bt__say(arena, "%s: \"%s\" is not a name", member, word);
        words += n + (words[n] != 0);
    }
    return NULL;
}

static const char *check_pass(bt_arena *arena, const void *row)
{
    const bt_pass *pass = row;
    const char *fault = pass->run ? NULL : "run is missing";
    if (!fault && pass->level > 4)
        fault = bt__say(arena, "level is %u, expected 0 to 4", pass->level);
    if (!fault)
        fault = check_words(arena, "needs", pass->needs);
    if (!fault)
        fault = check_words(arena, "keeps", pass->keeps);
    if (!fault)
        fault = check_words(arena, "gives", pass->gives);
    return fault;
}

static int put_words(json_t *item, const char *key, const char *words)
{
    return !words || bt__json_put(item, key, bt__json_words(words));
}

static int describe_pass(const void *row, json_t *item)
{
    const bt_pass *pass = row;
    return bt__json_put(item, "level", json_integer(pass->level)) &&
           put_words(item, "needs", pass->needs) &&
           put_words(item, "keeps", pass->keeps) &&
           put_words(item, "gives", pass->gives) &&
           (!pass->reads_rules || bt__json_put(item, "rules", json_true()));
}

static const bt__shape_field pass_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "level", &bt__level_shape, 1 },
    { "needs", &words_shape, 0 },
    { "keeps", &words_shape, 0 },
    { "gives", &words_shape, 0 },
    { "options", &bt__schema_shape, 0 },
    { "rules", &bt__flag_shape, 0 },
    { 0 },
};
static const bt__shape pass_shape = { .kinds = BT__JSON_OBJECT, .fields = pass_fields };

/* ---- analyses ---- */

static const char *check_analysis(bt_arena *arena, const void *row)
{
    (void)arena;
    return ((const bt_analysis *)row)->compute ? NULL : "compute is missing";
}

static const bt__shape_field head_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { 0 },
};
static const bt__shape head_shape = { .kinds = BT__JSON_OBJECT, .fields = head_fields };

/* ---- rules ---- */

static const char *check_rule(bt_arena *arena, const void *row)
{
    const bt_rule *rule = row;
    (void)arena;
    if (!bt__is_name(rule->pass))
        return "pass is missing: the one that goes by the rule, as simplify-expr";
    return bt__is_filled(rule->text) && bt__is_utf8(rule->text)
               ? NULL
               : "text is missing: the rule, as in \"add(x, 0) => x\"";
}

static int describe_rule(const void *row, json_t *item)
{
    const bt_rule *rule = row;
    return bt__json_put(item, "pass", json_string(rule->pass)) &&
           bt__json_put(item, "rule", json_string(rule->text)) &&
           (!rule->ulp || bt__json_put(item, "ulp", json_integer(rule->ulp))) &&
           (rule->from == rule->to ||
            (bt__json_put(item, "from", json_real(rule->from)) &&
             bt__json_put(item, "to", json_real(rule->to))));
}

static const bt__shape ulp_shape = { .kinds = BT__JSON_INT, .high = UINT32_MAX };
static const bt__shape bound_shape = { .kinds = BT__JSON_REAL };

static const bt__shape_field rule_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "pass", &bt__name_shape, 1 },
    { "rule", &bt__doc_shape, 1 },
    { "ulp", &ulp_shape, 0 },
    { "from", &bound_shape, 0 },
    { "to", &bound_shape, 0 },
    { 0 },
};
static const bt__shape rule_shape = { .kinds = BT__JSON_OBJECT, .fields = rule_fields };

/* ---- executors ---- */

static const struct {
    uint32_t bit;
    const char *name;
} features[] = {
#define BT_FEATURE(UPPER, bit, name, words) { (bit), name },
#include <baton/features.def>
};

static const char *check_executor(bt_arena *arena, const void *row)
{
    const bt_executor *executor = row;
    if (!!executor->open + !!executor->load + !!executor->write != 1)
        return "one of open, load and write is needed";
    if (!executor->write && (!executor->close || !executor->call))
        return bt__say(arena, "%s is missing", !executor->close ? "close" : "call");
    return executor->features & ~(uint32_t)BT_FEATURE_ALL
               ? "features has bits that are none of BT_FEATURE_..."
               : NULL;
}

static int describe_executor(const void *row, json_t *item)
{
    const bt_executor *executor = row;
    json_t *list = json_array();
    int ok = bt__json_put(item, "features", list);
    for (size_t i = 0; ok && i < BT_COUNT(features); i++) {
        if (executor->features & features[i].bit)
            ok = json_array_append_new(list, json_string(features[i].name)) == 0;
    }
    return ok;
}

static const bt__shape feature_shape = { .kinds = BT__JSON_STRING,
                                         .choices = &(
#define BT_FEATURE(UPPER, bit, name, words) "|" name
#include <baton/features.def>
                                             )[1] };
static const bt__shape features_shape = { .kinds = BT__JSON_LIST,
                                          .items = &feature_shape };
static const bt__shape_field executor_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "features", &features_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape executor_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = executor_fields };

/* ---- importers ---- */

static const char *check_importer(bt_arena *arena, const void *row)
{
    const bt_importer *importer = row;
    return importer->probe && importer->import
               ? NULL
               : bt__say(arena, "%s is missing", importer->probe ? "import" : "probe");
}

static int describe_importer(const void *row, json_t *item)
{
    return put_words(item, "suffixes", ((const bt_importer *)row)->suffixes);
}

static int is_suffix(const char *text)
{
    return text[0] == '.' && text[1] && !strchr(text, '/');
}
static const bt__shape suffix_shape = { .kinds = BT__JSON_STRING,
                                        .what = "a suffix of file names, as in \".onnx\"",
                                        .accepts = is_suffix };
static const bt__shape suffixes_shape = { .kinds = BT__JSON_LIST,
                                          .items = &suffix_shape };
static const bt__shape_field importer_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "suffixes", &suffixes_shape, 0 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape importer_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = importer_fields };

/* ---- compilers ---- */

static const char *check_compiler(bt_arena *arena, const void *row)
{
    (void)arena;
    return ((const bt_compiler *)row)->compile ? NULL : "compile is missing";
}

static const bt__shape_field compiler_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape compiler_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = compiler_fields };

/* ---- targets ---- */

/* Patterns as a list of texts in the manifest, so that a target's claims are known without
 * opening it. */
static int put_patterns(json_t *item, const char *const *patterns)
{
    json_t *list = patterns ? json_array() : NULL;
    int ok = !patterns || bt__json_put(item, "patterns", list);
    for (; ok && patterns && *patterns; patterns++)
        ok = json_array_append_new(list, json_string(*patterns)) == 0;
    return ok;
}

static const char *check_patterns(bt_arena *arena, const char *const *patterns)
{
    for (; patterns && *patterns; patterns++) {
        const char *fault = bt__call_pattern_fault(arena, *patterns);
        if (fault)
            return fault == bt__speechless
                       ? fault
                       : bt__say(arena, "pattern %s: %s", *patterns, fault);
    }
    return NULL;
}

/* All of a group, or none. */
static const char *check_group(bt_arena *arena, uint32_t n, const int *present,
                               const char *const *names, const char *all)
{
    uint32_t npresent = 0, missing = 0;
    for (uint32_t i = 0; i < n; i++)
        npresent += present[i] != 0;
    while (missing < n && present[missing])
        missing++;
    return npresent == 0 || npresent == n
               ? NULL
               : bt__say(arena, "%s is missing: %s go together", names[missing], all);
}

/* How its code runs: by the library, at once, or in queues. */
static const char *check_running(bt_arena *arena, const bt_target *t)
{
    static const char *const loading[] = { "load", "unload", "launch" },
                             *const queues[] = { "open_queue", "close_queue", "enqueue",
                                                 "wait" },
                             *const memory[] = { "alloc", "free", "copy" };
    const int queued = t->enqueue != NULL;
    const char *fault =
        check_group(arena, 4,
                    (const int[]){ t->open_queue != NULL, t->close_queue != NULL, queued,
                                   t->wait != NULL },
                    queues, "open_queue, close_queue, enqueue and wait");
    if (!fault)
        fault = check_group(arena, 3,
                            (const int[]){ t->load != NULL, t->unload != NULL,
                                           t->launch != NULL || queued },
                            loading, "load, unload and launch (or enqueue)");
    if (!fault)
        fault = check_group(
            arena, 3,
            (const int[]){ t->alloc != NULL, t->free != NULL,
                           queued ? t->enqueue_copy != NULL : t->copy != NULL },
            memory, "alloc, free and copy (enqueue_copy of queues)");
    if (!fault && t->alloc && !t->load)
        fault = "launch is missing: a target with memory of its own is called by nobody "
                "else";
    return !fault && t->space && !t->alloc ? "space is of memory, and alloc is missing"
                                           : fault;
}

static const char *check_target(bt_arena *arena, const void *row)
{
    const bt_target *target = row;
    const char *missing = !target->open && target->close   ? "open"
                          : !target->close && target->open ? "close"
                          : !target->lower                 ? "lower"
                          : !target->compile               ? "compile"
                                                           : NULL;
    const char *fault =
        missing ? bt__say(arena, "%s is missing", missing) : check_running(arena, target);
    if (!fault && target->layouts && !target->reads_layouts)
        fault = bt__say(arena, "it wants layouts (`layouts`), but says that it reads "
                               "none: set reads_layouts = 1");
    if (!fault)
        fault = check_patterns(arena, target->patterns);
    return fault;
}

static int describe_target(const void *row, json_t *item)
{
    return put_patterns(item, ((const bt_target *)row)->patterns);
}

static const bt__shape patterns_shape = { .kinds = BT__JSON_LIST,
                                          .items = &bt__text_shape };
static const bt__shape_field target_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { "patterns", &patterns_shape, 0 },
    { 0 },
};
static const bt__shape target_shape = { .kinds = BT__JSON_OBJECT,
                                        .fields = target_fields };

/* ---- schemes and calibrations of quantization ---- */

static const char *check_scheme(bt_arena *arena, const void *row)
{
    (void)arena;
    return ((const bt_quant_scheme *)row)->form ? NULL : "form is missing";
}

static const char *check_calibrate(bt_arena *arena, const void *row)
{
    (void)arena;
    return ((const bt_quant_calibrate *)row)->choose ? NULL : "choose is missing";
}

static const bt__shape_field quant_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape quant_shape = { .kinds = BT__JSON_OBJECT, .fields = quant_fields };

/* ---- pipelines, libraries: files beside the manifest ---- */

static const bt__shape_field file_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 0 },
    { "path", &bt__path_shape, 1 },
    { 0 },
};
static const bt__shape file_shape = { .kinds = BT__JSON_OBJECT, .fields = file_fields };

/* ---- the list ---- */

#define OPTIONS_AT(type)                                        \
    {                                                           \
        offsetof(type, options), offsetof(type, options_nbytes) \
    }
/* Rows may end behind the last member that all of them need: what an older plugin lacks is
 * absent. */
#define UP_TO(type, member) (offsetof(type, member) + sizeof(((const type *)0)->member))

static const bt__kind kinds[] = {
    { .kind = "op",
      .key = "ops",
      .interface_name = "baton.op/1",
      .doc = offsetof(bt_op, doc),
      .nbytes = sizeof(bt_op),
      .least = sizeof(bt_op),
      .shape = &bt__op_shape,
      .copy = bt__copy_op,
      .options = { offsetof(bt_op, attrs), offsetof(bt_op, attrs_nbytes) },
      .options_key = "attrs",
      .check = bt__check_op,
      .describe = bt__describe_op },
    { .kind = "relation",
      .key = "relations",
      .interface_name = "baton.relation/1",
      .doc = offsetof(bt_relation, doc),
      .nbytes = sizeof(bt_relation),
      .least = sizeof(bt_relation),
      .shape = &head_shape,
      .check = bt__check_relation },
    { .kind = "facet",
      .key = "facets",
      .interface_name = "baton.facet/1",
      .nbytes = sizeof(bt_facet),
      .least = sizeof(bt_facet),
      .shape = &bt__facet_shape,
      .copy = bt__copy_facet,
      .check = bt__check_facet,
      .describe = bt__describe_facet },
    { .kind = "pass",
      .key = "passes",
      .interface_name = "baton.pass/1",
      .doc = offsetof(bt_pass, doc),
      .nbytes = sizeof(bt_pass),
      .least = UP_TO(bt_pass, run),
      .shape = &pass_shape,
      .options = OPTIONS_AT(bt_pass),
      .check = check_pass,
      .describe = describe_pass },
    { .kind = "rule",
      .key = "rules",
      .interface_name = "baton.rule/1",
      .doc = offsetof(bt_rule, doc),
      .nbytes = sizeof(bt_rule),
      .least = UP_TO(bt_rule, ulp),
      .shape = &rule_shape,
      .check = check_rule,
      .describe = describe_rule },
    { .kind = "analysis",
      .key = "analyses",
      .interface_name = "baton.analysis/1",
      .doc = offsetof(bt_analysis, doc),
      .nbytes = sizeof(bt_analysis),
      .least = sizeof(bt_analysis),
      .shape = &head_shape,
      .check = check_analysis },
    { .kind = "executor",
      .key = "executors",
      .interface_name = "baton.executor/1",
      .doc = offsetof(bt_executor, doc),
      .nbytes = sizeof(bt_executor),
      .least = UP_TO(bt_executor, call),
      .shape = &executor_shape,
      .options = OPTIONS_AT(bt_executor),
      .check = check_executor,
      .describe = describe_executor },
    { .kind = "importer",
      .key = "importers",
      .interface_name = "baton.importer/1",
      .doc = offsetof(bt_importer, doc),
      .nbytes = sizeof(bt_importer),
      .least = sizeof(bt_importer),
      .shape = &importer_shape,
      .options = OPTIONS_AT(bt_importer),
      .check = check_importer,
      .describe = describe_importer },
    { .kind = "compiler",
      .key = "compilers",
      .interface_name = "baton.compiler/1",
      .doc = offsetof(bt_compiler, doc),
      .nbytes = sizeof(bt_compiler),
      .least = sizeof(bt_compiler),
      .shape = &compiler_shape,
      .options = OPTIONS_AT(bt_compiler),
      .check = check_compiler },
    { .kind = "target",
      .key = "targets",
      .interface_name = "baton.target/1",
      .doc = offsetof(bt_target, doc),
      .nbytes = sizeof(bt_target),
      .least = UP_TO(bt_target, compile),
      .shape = &target_shape,
      .options = OPTIONS_AT(bt_target),
      .check = check_target,
      .describe = describe_target },
    { .kind = "scheme",
      .key = "schemes",
      .interface_name = "quant.scheme/1",
      .doc = offsetof(bt_quant_scheme, doc),
      .nbytes = sizeof(bt_quant_scheme),
      .least = UP_TO(bt_quant_scheme, form),
      .shape = &quant_shape,
      .options = OPTIONS_AT(bt_quant_scheme),
      .check = check_scheme },
    { .kind = "calibrate",
      .key = "calibrates",
      .interface_name = "quant.calibrate/1",
      .doc = offsetof(bt_quant_calibrate, doc),
      .nbytes = sizeof(bt_quant_calibrate),
      .least = sizeof(bt_quant_calibrate),
      .shape = &quant_shape,
      .options = OPTIONS_AT(bt_quant_calibrate),
      .check = check_calibrate },
    { .kind = "pipeline",
      .key = "pipelines",
      .interface_name = "pipeline",
      .shape = &file_shape },
    { .kind = "library",
      .key = "libraries",
      .interface_name = "library",
      .shape = &file_shape },
    { 0 },
};

/* ---- what the plugin room is told ---- */

static bt_status check_step(bt_ctx *ctx, bt_arena *arena, const bt__json *json)
{
    bt__step step;
    return bt__step_read(ctx, arena, json, &step);
}

static const struct bt__host host = { .kinds = kinds,
                                      .contributes = &bt__contributes_shape,
                                      .check_step = check_step,
                                      .attrs = bt_attrs_parse };

bt_registry *bt_registry_create_sized(const bt_registry_options *options, size_t nbytes)
{
    bt_registry_options own;
    return bt__options_read(&own, sizeof(own), options, nbytes)
               ? bt__registry_create(&own, &host)
               : NULL;
}
