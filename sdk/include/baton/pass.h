/*
 * For authors of passes and analyses, and for whoever runs pipelines.
 *
 *     static const bt_rewriter rewriter = { .call_ = fold_call };
 *     static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
 *     {
 *         return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
 *     }
 *     static const bt_pass passes[] = { { .name = "fold-constant", .run = run }, { 0 } };
 *     const bt_table bt_passes_fold_constant[] = { BT_PASSES(passes), { 0 } };
 */
#ifndef BATON_PASS_H
#define BATON_PASS_H

#include <baton/ir.h>
#include <baton/op.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- passes ---- */

/* One run of a pass on one version. */
typedef struct bt_pass_call {
    const struct bt_pass *pass;
    const void *options;     /* the author's struct, filled from schema and pipeline */
    const bt_module *module; /* typed; never changed */
    bt_arena *scratch;       /* freed after the run */
    void *manager;           /* the kernel's */
    /* Those compiled for (<baton/compiled.h>); NULL: not known. */
    const struct bt_targets *targets;
    /* The function that the program is run from; NULL: that is not known, and any of them
     * may be the one. */
    const char *entry;
} bt_pass_call;

typedef struct bt_pass {
    const char *name; /* "fold-constant" */
    const char *doc;  /* first line: one sentence */
    uint32_t level;   /* runs from this opt level on: 0 always ... 4 */
    /* Names of analyses and invariants, separated by blanks. The module always has types;
     * other invariants: "anf", "fused", ... A pass runs only when what it needs holds;
     * afterwards holds what it keeps and gives; to keep "*" is to keep every invariant,
     * but no analysis, which must be named. */
    const char *needs, *keeps, *gives;
    const bt_attr *options; /* as an operator's attributes; NULL: none */
    size_t options_nbytes;
    /* The next version; *out = a new reference to call->module where nothing changed.
     * Globals that stay keep their types, but for dims that were known at run time only. */
    bt_status (*run)(bt_ctx *, bt_pass_call *, bt_module **out);
    uint32_t reads_rules; /* it goes by the rules (bt_rule) that plugins state for it */
} bt_pass;
#define BT_PASSES(array)                         \
    {                                            \
        "baton.pass/1", sizeof(bt_pass), (array) \
    }

/* A rule of rewriting as text, for a pass that goes by rules:
 *     { "halve-twice", "A quarter at once.", "simplify-expr",
 *       "multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)" }
 * What stands at the right is equal to what stands at the left, for all values of all
 * types that the rule applies to; it is put in place where its type is the same. The
 * language is described in rules.md. */
typedef struct bt_rule {
    const char *name; /* "halve-twice" */
    const char *doc;  /* first line: one sentence */
    const char *pass; /* "simplify-expr" */
    const char *text;
    /* How far floats may differ, in units of the last place of 1 + |result|; 0: not at all.
     * baton plugin check compares both sides. */
    uint32_t ulp;
    /* Between which numbers floats are for the promise to hold; both 0: for all of them,
     * NaN, infinities and the ends of the type too. */
    double from, to;
} bt_rule;
#define BT_RULES(array)                          \
    {                                            \
        "baton.rule/1", sizeof(bt_rule), (array) \
    }

/* Something computed from a module, cached by the manager until a pass that does not keep
 * it changes the module. */
typedef struct bt_analysis {
    const char *name; /* "effects", "uses", "call-graph" */
    const char *doc;
    bt_status (*compute)(bt_ctx *, const bt_module *, bt_arena *,
                         const void **out); /* the result lives in the arena */
    /* Optional: what `baton opt --print NAME` shows of a result. */
    bt_status (*print)(bt_ctx *, const bt_module *, const void *result, bt_text *out);
} bt_analysis;
#define BT_ANALYSES(array)                               \
    {                                                    \
        "baton.analysis/1", sizeof(bt_analysis), (array) \
    }
/* The result of a needed analysis; type by name: "effects" is a bt_effects, "call-graph"
 * a bt_callgraph; of others the plugin that has them knows. */
BT_API bt_status bt_pass_analysis(bt_ctx *, bt_pass_call *, const char *name,
                                  const void **out) BT_MUST_USE;

/* ---- rewriting ---- */

/* The driver walks every function's blocks in order, maps old values to new ones and
 * emits new blocks. A slot left empty means: the same binding with mapped operands, the
 * same pointer where none changed. A slot's function may set *out to the replacement (an
 * operand, or what it built with bt_rewrite_builder); leaving it NULL also means
 * rebuild. A replacement has the type of what it replaces; dims that were known at run
 * time only may be known now. */
typedef struct bt_rewrite bt_rewrite;
typedef struct bt_rewriter {
#define BT_VALUE_SLOT_1(lower, type) \
    bt_status (*lower)(bt_rewrite *, const type *old, const bt_value **out);
#define BT_VALUE_SLOT_0(lower, type)
#define BT_VALUE(UPPER, lower, type, is_binding, doc) \
    BT_VALUE_SLOT_##is_binding(lower##_, type)
#include <baton/value_kinds.def>
#undef BT_VALUE_SLOT_1
#undef BT_VALUE_SLOT_0
    /* For bindings whose kind has no slot. */
    bt_status (*any)(bt_rewrite *, const bt_value *old, const bt_value **out);
    /* Asked before a function is walked; 0: leave it as it is. NULL: all are walked. */
    int (*wants)(bt_rewrite *, const bt_global *);
    /* Called where a function's own block begins: what it builds stands first there. */
    bt_status (*begin)(bt_rewrite *, const bt_func *);
} bt_rewriter;
/* The next version of call->module, or a new reference to it where nothing changed. A pass is
 * often nothing but this call.
 * state   the pass's own, which slots ask for; it outlives the call
 * errors  the first that a slot gives; BT_ERR_LIMIT: blocks nest deeper than limits.depth
 * owns    caller unrefs *out, which a failure leaves alone */
BT_API bt_status bt_rewrite_module(bt_ctx *, bt_pass_call *, const bt_rewriter *,
                                   void *state, bt_module **out) BT_MUST_USE;

/* What bt_rewrite_module was given: borrowed, as a bt_rewrite is by its slots. */
BT_API void *bt_rewrite_state(const bt_rewrite *);
BT_API bt_ctx *bt_rewrite_ctx(const bt_rewrite *);
BT_API bt_pass_call *bt_rewrite_call(const bt_rewrite *);
/* Emits into the block under construction; span, provenance and name are preset to the
 * old binding's. */
BT_API bt_builder *bt_rewrite_builder(bt_rewrite *);
/* The new value of an old operand. Operands of the binding at hand are always mapped. A
 * binding that stands later in the same block is emitted first, so that a pass may join
 * siblings; *out is NULL where that cannot be, because it needs the binding at hand, has
 * effects that must stay in order, or stands in a block that is not around this one. */
BT_API bt_status bt_rewrite_operand(bt_rewrite *, const bt_value *old,
                                    const bt_value **out) BT_MUST_USE;
/* Instead of setting *out: the binding at hand is left out. Nothing emitted later may use
 * it. */
BT_API void bt_rewrite_drop(bt_rewrite *);
/* From now on, `old` is `now`: for bindings later in the block that were joined into this
 * one. */
BT_API bt_status bt_rewrite_replace(bt_rewrite *, const bt_value *old,
                                    const bt_value *now) BT_MUST_USE;
/* What is built next in this slot came from `old` too: joins its provenance. Where the
 * slot sets no *out, the binding at hand, kept, does. */
BT_API void bt_rewrite_from(bt_rewrite *, const bt_value *old);
/* How often a value of the old function is used, results of blocks included; and the
 * using bindings, in order. */
BT_API uint32_t bt_rewrite_nuse(const bt_rewrite *, const bt_value *old);
BT_API const bt_value *bt_rewrite_use(const bt_rewrite *, const bt_value *old,
                                      uint32_t index);
/* Whether an old value is bound in the very block that is walked, not in one around it:
 * what moves from there to here runs as often as before. */
BT_API int bt_rewrite_is_here(const bt_rewrite *, const bt_value *old);
/* Whether it is, and is used once: a new value that takes it in leaves nothing behind. */
BT_API int bt_rewrite_is_alone_here(const bt_rewrite *, const bt_value *old);
/* What a copy of a value is stated to have: its type, with a hole for each dim that only the
 * run knows and that the value brings along. */
BT_API bt_status bt_rewrite_stated(bt_rewrite *, const bt_value *old,
                                   const bt_type **out) BT_MUST_USE;
/* How many blocks and copies of blocks are around the place at hand. More than limits.depth
 * are an error. */
BT_API uint32_t bt_rewrite_depth(const bt_rewrite *);
/* Rewrites a nested block (with the parameters mapped to `args`) into the current one;
 * *out is its result. */
BT_API bt_status bt_rewrite_inline(bt_rewrite *, const bt_block *, uint32_t narg,
                                   const bt_value *const *args,
                                   const bt_value **out) BT_MUST_USE;
/* The same, for the body of a function: type parameters are replaced too. `args` are new
 * values, `type_args` those of the old call. Slots see the copy's bindings as well. *out is
 * left alone where a check that the body makes at run time cannot hold for these types: the
 * call is to stay, and fails when it is reached. */
BT_API bt_status bt_rewrite_inline_func(bt_rewrite *, const bt_func *, uint32_t ntype_arg,
                                        const bt_type *const *type_args, uint32_t narg,
                                        const bt_value *const *args,
                                        const bt_value **out) BT_MUST_USE;

/* ---- patterns of calls ---- */

/* What computes something, as text: "nn.relu?(nn.bias_add(nn.dense(*, *), b))".
 *     op(...)      a call of an operator, with as many arguments; root of every pattern
 *     op|op(...)   of one of several
 *     op?(a, ...)  a call that may be absent; `a` then stands for it
 *     *            any value
 *     const        a constant
 *     b            any value, the same wherever the name stands in the pattern
 * Attributes and types are left to who asks for the match. */
typedef struct bt_call_pattern bt_call_pattern; /* lives in the arena */
/* errors  BT_ERR_SYNTAX, also beyond 64 calls and names, 16 arguments of one call, 12
 *         calls that may be absent */
BT_API bt_status bt_call_pattern_parse(bt_ctx *, bt_arena *, const char *text,
                                       const bt_call_pattern **out) BT_MUST_USE;
/* Whether the operators are there and take as many arguments as the pattern gives them:
 * one that never matches says nothing else of it.
 * errors  BT_ERR_NAME; BT_ERR_ARGUMENT, with what the operator takes */
BT_API bt_status bt_call_pattern_check(bt_ctx *, const bt_call_pattern *) BT_MUST_USE;
typedef struct bt_call_match {
    uint32_t nmember;               /* 0: no match */
    const bt_value *const *members; /* the calls, each once, operands first */
    /* What stands for *, const and names, each value once, in order of the pattern; but
     * constants of one element that stand for `const` are part of what is computed. */
    uint32_t noperand;
    const bt_value *const *operands;
} bt_call_match;
/* Matches from `root` on; `takes` says which calls may be part of it, NULL: all. Calls that
 * may be absent count as present if they match. What is matched lives in the arena. */
BT_API bt_status bt_call_pattern_match(bt_arena *, const bt_call_pattern *,
                                       const bt_value *root,
                                       int (*takes)(void *state, const bt_call *),
                                       void *state, bt_call_match *out) BT_MUST_USE;

/* ---- pipelines ---- */

typedef struct bt_pipeline bt_pipeline;

/* `source`: a pipeline's name ("default"), a manifest's path (ends in .json), or the
 * one-line form "fold-constant, simplify-expr{max-rounds=3}". Opens no plugin.
 * errors  with place in the file or the line */
BT_API bt_status bt_pipeline_read(bt_ctx *, const char *source,
                                  bt_pipeline **out) BT_MUST_USE;
BT_API bt_status bt_pipeline_parse(bt_ctx *, const char *file, const char *json,
                                   size_t nbytes, bt_pipeline **out) BT_MUST_USE;
BT_API void bt_pipeline_destroy(bt_pipeline *); /* accepts NULL */

typedef struct bt_pipeline_options {
    int32_t level; /* opt level; -1: the pipeline's own */
    /* passes to run whatever their level; NULL-terminated; NULL: none */
    const char *const *require;
    const char *const *disable;
    /* "pass.option=value" and "variable=value"; NULL-terminated */
    const char *const *set;
    /* What is compiled for, "cpu" or a list, "npu, cpu{threads=2}": for conditions, which
     * mean the name of the last. NULL: "interp", or that of `targets`. */
    const char *target;
    /* The same opened (bt_targets_open), for passes that ask them; NULL: none is asked. */
    const struct bt_targets *targets;
    const char *entry;   /* the function that the program is run from; NULL: any may be */
    uint32_t stop_after; /* run this many passes only; 0: all */
    uint32_t verify_each; /* verify after every pass */
    uint32_t time_passes;
    uint32_t print_changed; /* print the module after each pass that changed it */
    const char *const *dump_before, *const *dump_after; /* pass names; "*": all */
    /* Receives dumps and tables as text. */
    void *self;
    void (*print)(void *self, const char *text);
} bt_pipeline_options;

/* Proves order, needs, option types and that repeats end, from manifests alone. Reports
 * all faults, returns the first. */
BT_API bt_status bt_pipeline_check_sized(bt_ctx *, const bt_pipeline *,
                                         const bt_pipeline_options *,
                                         size_t nbytes) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_pipeline_check(bt_ctx *ctx, const bt_pipeline *p,
                                                      const bt_pipeline_options *options)
{
    return bt_pipeline_check_sized(ctx, p, options, sizeof(*options));
}
/* The flat form, as JSON that parses back to itself; and its digest. */
BT_API bt_status bt_pipeline_resolve_sized(bt_ctx *, const bt_pipeline *,
                                           const bt_pipeline_options *, size_t nbytes,
                                           bt_text *out, uint64_t *digest) BT_MUST_USE;
BT_MUST_USE static inline bt_status
bt_pipeline_resolve(bt_ctx *ctx, const bt_pipeline *p, const bt_pipeline_options *options,
                    bt_text *out, uint64_t *digest)
{
    return bt_pipeline_resolve_sized(ctx, p, options, sizeof(*options), out, digest);
}
/* A failed pass changes nothing: `module` stays valid and *out unset. */
BT_API bt_status bt_pipeline_run_sized(bt_ctx *, const bt_pipeline *,
                                       const bt_pipeline_options *, size_t nbytes,
                                       const bt_module *, bt_module **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_pipeline_run(bt_ctx *ctx, const bt_pipeline *p,
                                                    const bt_pipeline_options *options,
                                                    const bt_module *module,
                                                    bt_module **out)
{
    return bt_pipeline_run_sized(ctx, p, options, sizeof(*options), module, out);
}

#ifdef __cplusplus
}
#endif
#endif
