/* NAME.so: the files of a program, compiled and linked by the system's C compiler. */
#include "write.h"

#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>

typedef bt_vec(const char *) words;

static int add_word(const struct output *o, words *argv, const char *format, ...)
    BT_PRINTF(3, 4);
static int add_word(const struct output *o, words *argv, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, o->plan->arena);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *word = bt_text_get(&text);
    return word && BT_PUSH(o->plan->arena, argv, word);
}

/* A path that begins with "-" is no option. */
static int add_arguments(const struct output *o, words *argv)
{
    const char *name = o->plan->name;
    const char *here = *o->folder == '/' ? "" : "./";
    int ok = add_word(o, argv, "cc") && add_word(o, argv, "-std=c99") &&
             add_word(o, argv, "-O2") && add_word(o, argv, "-fPIC") &&
             add_word(o, argv, "-shared") && add_word(o, argv, "-fvisibility=hidden") &&
             add_word(o, argv, "-ffp-contract=off") &&
             add_word(o, argv, "-I%s%s", here, o->folder) && add_word(o, argv, "-o") &&
             add_word(o, argv, "%s%s/%s.so", here, o->folder, name) &&
             add_word(o, argv, "%s%s/%s.c", here, o->folder, name) &&
             add_word(o, argv, "%s%s/%s_data.c", here, o->folder, name);
    for (uint32_t i = 0; ok && i < count_pieces(o); i++)
        ok = add_word(o, argv, "%s%s/%s_kernels_%" PRIu32 ".c", here, o->folder, name, i);
    if (ok && o->library)
        ok = add_word(o, argv, "%s%s/libbaton_%s.a", here, o->folder, o->library) &&
             add_word(o, argv, "-lm");
    return ok && BT_PUSH(o->plan->arena, argv, NULL);
}

bt_status write_shared(struct output *o)
{
    bt_ctx *ctx = o->plan->ctx;
    words argv = { 0 };
    bt_process_end end;
    if (!add_arguments(o, &argv))
        return bt_no_memory();
    const bt_process process = { .argv = argv.at };
    BT_TRY(bt_process_run(ctx, &process, o->plan->arena, &end));
    if (end.exit_code == 0)
        return NULL;
    const char *messages = bt_text_get(&end.messages);
    return bt_fail(ctx, BT_ERR_PLUGIN,
                   "aot: cc makes no %s/%s.so of the files there:\n%s", o->folder,
                   o->plan->name, messages ? messages : "");
}
