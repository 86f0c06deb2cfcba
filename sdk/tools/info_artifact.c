#include "info_artifact.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <baton/artifact.h>
#include <baton/op.h>

#include "output.h"
#include "reached.h"
#include "scaled.h"
#include "signature.h"

/* Storage of the planned program: what a session takes besides inputs and constants. A
 * number of bytes, or a text where it depends on the dims of a call. */
static json_t *count_memory(struct tool *tool, const bt_global *entry)
{
    const bt_block *block = entry->func->block;
    bt_store *store = block->result->type->store;
    const bt_type *sum = bt_dim(store, 0);
    int64_t number;
    bt_text text;
    for (uint32_t i = 0; sum && i < block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(block->bindings[i], "memory.alloc_storage");
        if (call)
            sum = bt_dim_add(store, sum, bt_call_dim(call, "size"));
    }
    if (!sum || bt_dim_is_const(sum, &number))
        return json_integer(sum ? (json_int_t)number : -1);
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_print_type(tool->ctx, sum, &text);
    return json_string(bt_text_get(&text));
}

static void print_memory_line(struct tool *tool, const bt_global *entry, int is_more)
{
    char text[32];
    json_t *memory = count_memory(tool, entry);
    printf("memory           %s bytes%s\n",
           json_is_string(memory) ? json_string_value(memory)
                                  : scaled(json_number_value(memory), text),
           is_more ? ", and what its branches and calls take while they run" : "");
    json_decref(memory);
}

/* The invokes of a kernel; of all kernels if `kernel` is NULL. */
static uint32_t count_steps(const bt_blocks *blocks, const char *kernel)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < blocks->len; b++) {
        const bt_block *block = blocks->at[b];
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const char *name = bt_invoke_kernel(block->bindings[i]);
            n += name && (!kernel || strcmp(name, kernel) == 0);
        }
    }
    return n;
}

/* A function's kernels, and how often it is called: as often as the first of them. */
static void count_calls(const bt_artifact *a, const bt_blocks *blocks, uint32_t func,
                        uint32_t *nkernel, uint32_t *ncall)
{
    *nkernel = *ncall = 0;
    for (uint32_t i = 0; i < a->nkernel; i++) {
        if (a->kernels[i]->func != func)
            continue;
        if (!*nkernel)
            *ncall = count_steps(blocks, a->kernels[i]->name);
        ++*nkernel;
    }
}

/* What all calls of a function take together; -1: not known. */
static int64_t of_all_calls(int64_t one, uint32_t ncall)
{
    int64_t all;
    return one >= 0 && bt_mul_int64(one, ncall, &all) ? all : -1;
}

/* Of one run; -1: not known. */
static int64_t count_work(const bt_artifact *a, const bt_blocks *blocks)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < a->nfunc; i++) {
        uint32_t nkernel, ncall;
        count_calls(a, blocks, i, &nkernel, &ncall);
        int64_t all = of_all_calls(a->funcs[i]->multiply_adds, ncall);
        if (ncall && (all < 0 || !bt_add_int64(sum, all, &sum)))
            return -1;
    }
    return sum;
}

static void print_sections(const bt_artifact *a)
{
    printf("\n%-10s  %12s  %12s  %s\n", "SECTION", "BYTES", "AT", "CRC-32C");
    for (uint32_t i = 0; i < a->nsection; i++) {
        const bt_artifact_section *s = &a->sections[i];
        printf("%-10s  %12" PRIu64 "  %12" PRIu64 "  %08" PRIx32 "\n", s->name, s->nbytes,
               s->offset, s->checksum);
    }
}

static const char *cost_text(int64_t value, char out[SCALED_NBYTES])
{
    return value < 0 ? "?" : scaled((double)value, out);
}

static void print_functions(const bt_artifact *a, const bt_blocks *blocks)
{
    int width = 8, target_width = 6;
    for (uint32_t i = 0; i < a->nfunc; i++) {
        int n = (int)strlen(a->funcs[i]->name),
            m = (int)strlen(a->targets[a->funcs[i]->target].text);
        width = n > width ? n : width;
        target_width = m > target_width ? m : target_width;
    }
    printf("\n%-*s  %5s  %-*s  %7s  %13s  %8s  WAY\n", width, "FUNCTION", "CALLS",
           target_width, "TARGET", "KERNELS", "MULTIPLY-ADDS", "BYTES");
    for (uint32_t i = 0; i < a->nfunc; i++) {
        const bt_compiled_func *f = a->funcs[i];
        uint32_t nkernel, ncall;
        char work[SCALED_NBYTES], bytes[SCALED_NBYTES];
        count_calls(a, blocks, i, &nkernel, &ncall);
        printf("%-*s  %5u  %-*s  %7u  %13s  %8s%s%s\n", width, f->name, ncall,
               target_width, a->targets[f->target].text, nkernel,
               cost_text(of_all_calls(f->multiply_adds, ncall), work),
               cost_text(of_all_calls(f->nbytes, ncall), bytes), *f->way ? "  " : "",
               f->way);
    }
}

/* NULL: kernels were made for any values of open dims alike. */
static const char *find_hot(const bt_global *entry)
{
    const bt_dict_entry *hot = bt_dict_find(&entry->func->attrs, "hot");
    return hot && hot->kind == BT_DICT_TEXT ? hot->text : NULL;
}

static int print_artifact(struct tool *tool, const bt_artifact *a, const bt_global *entry,
                          const bt_blocks *blocks)
{
    char text[SCALED_NBYTES];
    for (uint32_t i = 0; i < a->ntarget; i++) {
        const bt_artifact_target *t = &a->targets[i];
        printf("%s%s%s%s\n", i ? "                 " : "compiled for     ", t->text,
               *t->compatibility ? ", which needs " : "", t->compatibility);
    }
    if (*a->executor)
        printf("executor         %s\n", a->executor);
    printf("entry            @%s\n", a->entry);
    int code = print_signature(tool, entry);
    if (code)
        return code;
    const uint32_t ncall = count_steps(blocks, NULL);
    printf("kernels          %u, called %s%u %s%s\n", a->nkernel,
           blocks->len > 1 ? "in " : "", ncall, blocks->len > 1 ? "place" : "time",
           PLURAL(ncall));
    if (find_hot(entry))
        printf("versions for     %s; any\n", find_hot(entry));
    printf("multiply-adds    %s\n", cost_text(count_work(a, blocks), text));
    printf("constants        %u, %s bytes", a->nconstant,
           scaled((double)a->packed_nbytes, text));
    printf("; %s before they were packed\n", scaled((double)a->unpacked_nbytes, text));
    print_memory_line(tool, entry, blocks->len > 1);
    print_functions(a, blocks);
    print_sections(a);
    printf("\nPROVENANCE\n%s", a->provenance);
    return EXIT_OK;
}

static json_t *sections_json(const bt_artifact *a)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->nsection; i++) {
        const bt_artifact_section *s = &a->sections[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "name", s->name,
                                              "bytes", (json_int_t)s->nbytes, "offset",
                                              (json_int_t)s->offset, "crc32c",
                                              (json_int_t)s->checksum));
    }
    return list;
}

/* A text's lines, as a list. */
static json_t *lines_json(const char *text)
{
    json_t *list = json_array();
    while (*text) {
        size_t n = strcspn(text, "\n");
        json_array_append_new(list, json_stringn(text, n));
        text += n + (text[n] == '\n');
    }
    return list;
}

static json_t *targets_json(const bt_artifact *a)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->ntarget; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "target", a->targets[i].text,
                                        "compatibility", a->targets[i].compatibility));
    return list;
}

static json_t *kernels_json(const bt_artifact *a)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->nkernel; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s}", "name", a->kernels[i]->name, "target",
                            a->targets[a->kernels[i]->target].text, "function",
                            a->funcs[a->kernels[i]->func]->name, "code",
                            a->codes[i]->form == BT_CODE_OBJECT ? "object" : "bytes"));
    return list;
}

static json_t *functions_json(const bt_artifact *a, const bt_blocks *blocks)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->nfunc; i++) {
        const bt_compiled_func *f = a->funcs[i];
        uint32_t nkernel, ncall;
        count_calls(a, blocks, i, &nkernel, &ncall);
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:s}", "function", f->name, "calls",
                      (json_int_t)ncall, "target", a->targets[f->target].text, "kernels",
                      (json_int_t)nkernel, "multiply_adds",
                      (json_int_t)of_all_calls(f->multiply_adds, ncall), "bytes",
                      (json_int_t)of_all_calls(f->nbytes, ncall), "way", f->way));
    }
    return list;
}

static int print_artifact_json(struct tool *tool, const bt_artifact *a,
                               const bt_global *entry, const bt_blocks *blocks)
{
    json_t *root = json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
        "targets", targets_json(a), "entry", a->entry, "inputs", inputs_json(tool, entry),
        "outputs", outputs_json(tool, entry), "kernels", kernels_json(a), "functions",
        functions_json(a, blocks), "multiply_adds", (json_int_t)count_work(a, blocks),
        "calls", (json_int_t)count_steps(blocks, NULL), "constants",
        (json_int_t)a->nconstant, "constant_bytes", (json_int_t)a->packed_nbytes,
        "unpacked_bytes", (json_int_t)a->unpacked_nbytes, "memory",
        count_memory(tool, entry), "sections", sections_json(a), "provenance",
        lines_json(a->provenance));
    if (*a->executor)
        json_object_set_new(root, "executor", json_string(a->executor));
    if (find_hot(entry))
        json_object_set_new(root, "versions", json_string(find_hot(entry)));
    return print_json(tool, root);
}

int info_artifact(struct tool *tool)
{
    static const char *const of_models[] = {
        "dim",      "fix",  "entry", "target", "threads", "opt-level", "passes",
        "pipeline", "fuse", "plan",  "hot",    "tune",    "why",       "checkpoint-memory"
    };
    const bt_global *entry;
    bt_blocks blocks;
    bt_artifact *a;
    for (uint32_t i = 0; i < BT_COUNT(of_models); i++) {
        if (option_value(tool, of_models[i]))
            return tool_usage(tool, "--%s is for models: %s is compiled", of_models[i],
                              tool->args[0]);
    }
    TRY_TOOL(tool, bt_artifact_read(tool->ctx, tool->args[0], &a));
    bt_status status = bt_module_entry(tool->ctx, a->module, a->entry, &entry);
    if (!status)
        status = reached_blocks(tool->ctx, bt_ctx_scratch(tool->ctx), a->module, entry, 0,
                                &blocks);
    int code = status                       ? tool_fail(tool, status)
               : option_value(tool, "json") ? print_artifact_json(tool, a, entry, &blocks)
                                            : print_artifact(tool, a, entry, &blocks);
    bt_artifact_close(a);
    return code;
}
