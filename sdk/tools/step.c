/*
 * A debugger of steps. At a stop a line of standard input says how to go on:
 *
 *     n, or nothing   to the next binding     o   likewise, but over what it calls
 *     b [FILE:]LINE   to a line of the source c   to the end
 *     p [%NAME]       show a value, or all    q   end the run
 */
#include "step.h"

#include <stdlib.h>
#include <string.h>

#include <baton/ir.h>

enum { SHOWN = 16 };

struct stepper {
    struct tool *tool;
    uint32_t depth;   /* of calls in which it stops */
    uint32_t line;    /* to go to; 0: none */
    char file[256];   /* in which it stands, the end of its path */
    const char *home; /* the file of the first stop */
    uint32_t nstop;
    int is_over;
};

/* ---- values ---- */

static bt_status print_value(const struct stepper *s, const bt_stop *stop,
                             const bt_value *value, uint32_t *nshown)
{
    bt_object *object;
    bt_text text;
    BT_TRY(stop->look(s->tool->ctx, stop->frame, value, &object));
    if (!object)
        return NULL;
    bt_text_init(&text, bt_ctx_scratch(s->tool->ctx));
    bt_object_print(object, SHOWN, &text);
    bt_object_unref(object);
    if (!bt_text_get(&text))
        return bt_no_memory();
    printf("  %%%s = %s\n", value->name, bt_text_get(&text));
    ++*nshown;
    return NULL;
}

static int is_asked(const bt_value *value, const char *name)
{
    return value->name && (!*name || strcmp(value->name, name) == 0);
}

/* Blocks nest to a bounded depth. */
static bt_status print_values(const struct stepper *s, const bt_stop *stop,
                              const bt_block *block, const char *name, uint32_t *nshown)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (is_asked(&block->params[i]->base, name))
            BT_TRY(print_value(s, stop, &block->params[i]->base, nshown));
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (is_asked(value, name))
            BT_TRY(print_value(s, stop, value, nshown));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(print_values(s, stop, bt_value_region(value, k), name, nshown));
    }
    return NULL;
}

static bt_status print_asked(const struct stepper *s, const bt_stop *stop,
                             const char *name)
{
    uint32_t nshown = 0;
    name += *name == '%';
    BT_TRY(print_values(s, stop, stop->func->block, name, &nshown));
    if (!nshown)
        printf("  %s%s: nothing is known here\n", *name ? "%" : "values", name);
    return NULL;
}

/* ---- stops ---- */

static bt_place place_of(const bt_stop *stop)
{
    bt_place place;
    bt_span_place(stop->next->type->store, stop->next->span, &place);
    return place;
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "5:22" in the program's own file, "layers.baton:5:22" in another; of models, the node. */
static void print_place(const struct stepper *s, const bt_place *place)
{
    if (place->file && strcmp(place->file, s->home) != 0)
        printf(" %s%s", without_folder(place->file), place->line ? ":" : "");
    else
        printf(" ");
    if (place->line)
        printf("%u:%u", place->line, place->column);
    else if (place->node)
        printf("%s", place->node);
}

static void print_stop(const struct stepper *s, const bt_stop *stop)
{
    const bt_place place = place_of(stop);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(s->tool->ctx));
    bt_print_operand(stop->next, &text);
    const char *what = bt_text_get(&text);
    printf("%s", stop->func->name ? stop->func->name : "fn");
    print_place(s, &place);
    printf(", depth %u: before %s\n", stop->depth, what ? what : "");
    if (place.line && place.text)
        printf("  | %s\n", place.text);
}

static void print_help(void)
{
    printf("  n: next   o: over a call   b [FILE:]LINE: to a line   c: to the end   "
           "p [%%NAME]: show values   q: quit\n");
}

/* Whether a value is the last that a block computes, or a block of its result does: a call
 * that is has no frame of the function below it. Blocks nest to a bounded depth. */
static int is_last(const bt_block *block, const bt_value *value)
{
    if (block->result == value)
        return 1;
    for (uint32_t i = 0; i < bt_value_nregion(block->result); i++) {
        if (is_last(bt_value_region(block->result, i), value))
            return 1;
    }
    return 0;
}

/* "12" or "layers.baton:12"; 0: it is neither. */
static int read_line(struct stepper *s, const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *file = colon ? text : without_folder(s->home);
    const size_t n = colon ? (size_t)(colon - text) : strlen(file);
    if (n >= sizeof(s->file))
        return 0;
    memcpy(s->file, file, n);
    s->file[n] = '\0';
    s->line = (uint32_t)strtoul(colon ? colon + 1 : text, NULL, 10);
    return s->line != 0;
}

/* 1: the run goes on. */
static int obey(struct stepper *s, const bt_stop *stop, char *line, bt_status *status)
{
    char *word = line + strspn(line, " \t"), *rest = word + strcspn(word, " \t\r\n");
    const size_t n = (size_t)(rest - word);
    rest += strspn(rest, " \t");
    rest[strcspn(rest, " \t\r\n")] = '\0';
    s->depth = UINT32_MAX;
    s->line = 0;
    if (n == 0 || (n == 1 && *word == 'n'))
        return 1;
    switch (n == 1 ? *word : 0) {
    case 'o':
        s->depth = stop->depth;
        if (bt_as_call(stop->next) && is_last(stop->func->block, stop->next))
            s->depth--;
        return 1;
    case 'c': s->depth = 0; return 1;
    case 'b':
        if (read_line(s, rest))
            return 1;
        break;
    case 'p': *status = print_asked(s, stop, rest); return *status != NULL;
    case 'q':
        s->is_over = 1;
        *status = bt_fail(s->tool->ctx, BT_ERR_CANCELLED, "the run was ended");
        return 1;
    default: break;
    }
    print_help();
    return 0;
}

static int ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0 && (n == m || path[n - m - 1] == '/');
}

static int is_wanted(const struct stepper *s, const bt_stop *stop)
{
    const bt_place place = place_of(stop);
    if (!s->line)
        return stop->depth <= s->depth;
    return place.line == s->line && place.file && ends_with(place.file, s->file);
}

static bt_status stop_at(void *self, const bt_stop *stop)
{
    struct stepper *s = self;
    bt_arena *scratch = bt_ctx_scratch(s->tool->ctx);
    const void *mark = bt_arena_mark(scratch);
    char line[256];
    bt_status status = NULL;
    s->nstop++;
    if (!s->home)
        s->home = place_of(stop).file ? place_of(stop).file : "";
    if (!is_wanted(s, stop))
        return NULL;
    print_stop(s, stop);
    for (int goes_on = 0; !goes_on;) {
        printf("> ");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin))
            strcpy(line, "c");
        goes_on = obey(s, stop, line, &status);
    }
    bt_arena_release(scratch, mark);
    return status;
}

int run_steps(struct tool *tool, bt_program *program, int *is_over)
{
    struct stepper s = { .tool = tool, .depth = UINT32_MAX };
    bt_program_watch(program, stop_at, &s);
    bt_status status = bt_program_run(program);
    bt_program_watch(program, NULL, NULL);
    *is_over = s.is_over;
    if (status && !s.is_over)
        return tool_fail(tool, status);
    if (s.line)
        fprintf(stderr, "note: no step of the run stands in %s:%u\n", s.file, s.line);
    if (s.nstop)
        return EXIT_OK;
    const char *by = bt_program_executor(program);
    if (strcmp(by, "interp") == 0 || strcmp(by, "vm") == 0)
        fprintf(stderr, "note: the passes left no binding to stop before; --executor "
                        "interp --passes '' runs the program as it is written\n");
    else
        fprintf(stderr, "note: executor %s made no steps of bindings; interp and vm do\n",
                by);
    return EXIT_OK;
}
