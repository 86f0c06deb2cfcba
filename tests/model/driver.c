/*
 * Runs models for the tests beside it: one long-lived process, so that thousands of small
 * models cost no start-up. A request is a line of fields separated by tabs, the answer
 * one line: "ok", then what was asked for; or "error CODE TEXT".
 *
 *     open MODEL PIPELINE [DIM=N]...   ok NINPUT NOUTPUT
 *     open ARTIFACT                    ok NINPUT NOUTPUT
 *     set INDEX FILE                   an input from .npy or .pb
 *     run FOLDER                       outputs as FOLDER/INDEX.npy
 *
 * Models are run by the executor interp; where BATON_MODEL_TARGET names a target, they are
 * compiled for it and run by graph, or by the executor that BATON_MODEL_EXECUTOR names.
 * The process has the locale that BATON_MODEL_LOCALE names.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/importer.h>

enum { MAX_FIELD = 64, LINE_NBYTES = 65536 };

struct driver {
    bt_registry *registry; /* plugins stay open from model to model */
    bt_ctx *ctx;
    bt_program *program;
};

static bt_status close_program(struct driver *d)
{
    bt_program_close(d->program);
    d->program = NULL;
    bt_ctx_destroy(d->ctx);
    d->ctx = bt_ctx_create(d->registry);
    return d->ctx ? NULL : bt_no_memory();
}

/* Reports what an importer found besides the status that it returned. */
static void print_reports(struct driver *d, bt_status status)
{
    for (uint32_t i = 0; i < bt_ctx_nreport(d->ctx); i++) {
        bt_status report = bt_ctx_report(d->ctx, i);
        if (report != status)
            printf("; %s", report->message);
    }
}

static void print_error(struct driver *d, bt_status status)
{
    printf("error %s ", bt_code_name(status->code));
    if (status->place.node)
        printf("%s: ", status->place.node);
    for (const char *c = status->message; *c; c++)
        putchar(*c == '\n' ? ' ' : *c);
    for (const bt_diag *note = status->note; note; note = note->note)
        printf(" (%s)", note->message);
    print_reports(d, status);
    putchar('\n');
}

static bt_status open_program(struct driver *d, uint32_t n, char **fields)
{
    const char *fixed[MAX_FIELD + 1] = { 0 };
    BT_TRY(close_program(d));
    for (uint32_t i = 3; i < n; i++)
        fixed[i - 3] = fields[i];
    bt_program_options options = { 0 };
    if (n > 2) {
        options.fixed = fixed;
        options.pipeline = fields[2];
        options.target = getenv("BATON_MODEL_TARGET");
        options.executor = getenv("BATON_MODEL_EXECUTOR");
        if (!options.executor)
            options.executor = options.target ? "graph" : "interp";
    }
    BT_TRY(bt_program_open(d->ctx, n > 1 ? fields[1] : "", &options, &d->program));
    printf("ok %u %u\n", bt_program_ninput(d->program), bt_program_noutput(d->program));
    return NULL;
}

static bt_status set_input(struct driver *d, uint32_t n, char **fields)
{
    const bt_port *port =
        n == 3 ? bt_program_input(d->program, (uint32_t)strtoul(fields[1], NULL, 10))
               : NULL;
    bt_tensor *tensor;
    if (!port)
        return bt_fail(d->ctx, BT_ERR_ARGUMENT, "there is no such input");
    BT_TRY(bt_tensor_read(d->ctx, fields[2], &tensor));
    bt_status status = bt_program_set(d->program, port->name, &tensor->base);
    bt_tensor_unref(tensor);
    if (!status)
        puts("ok");
    return status;
}

static bt_status write_output(struct driver *d, const char *folder, uint32_t index)
{
    bt_arena *scratch = bt_ctx_scratch(d->ctx);
    bt_text path, bytes;
    const bt_tensor *tensor = bt_object_as_tensor(bt_program_get(d->program, index));
    if (!tensor)
        return bt_fail(d->ctx, BT_ERR_UNSUPPORTED, "output %u is not a tensor", index);
    bt_text_init(&path, scratch);
    bt_text_addf(&path, "%s/%u.npy", folder, index);
    bt_text_init(&bytes, scratch);
    BT_TRY(bt_npy_write(d->ctx, tensor, &bytes));
    if (!bt_text_get(&path) || bytes.failed)
        return bt_no_memory();
    FILE *file = fopen(path.at, "wb");
    size_t nbytes = file ? fwrite(bytes.at, 1, bytes.len, file) : 0;
    if (!file || fclose(file) != 0 || nbytes != bytes.len)
        return bt_fail(d->ctx, BT_ERR_IO, "%s cannot be written", path.at);
    return NULL;
}

static bt_status run_program(struct driver *d, uint32_t n, char **fields)
{
    if (n != 2)
        return bt_fail(d->ctx, BT_ERR_ARGUMENT, "run takes a folder");
    BT_TRY(bt_program_run(d->program));
    for (uint32_t i = 0; i < bt_program_noutput(d->program); i++)
        BT_TRY(write_output(d, fields[1], i));
    puts("ok");
    return NULL;
}

static bt_status answer(struct driver *d, char *line)
{
    char *fields[MAX_FIELD];
    uint32_t n = 0;
    for (char *at = line; at && n < MAX_FIELD; n++) {
        fields[n] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = 0;
    }
    if (strcmp(fields[0], "open") == 0)
        return open_program(d, n, fields);
    if (!d->program)
        return bt_fail(d->ctx, BT_ERR_ARGUMENT, "no model is open");
    if (strcmp(fields[0], "set") == 0)
        return set_input(d, n, fields);
    if (strcmp(fields[0], "run") == 0)
        return run_program(d, n, fields);
    return bt_fail(d->ctx, BT_ERR_ARGUMENT, "unknown request %s", fields[0]);
}

int main(void)
{
    static char line[LINE_NBYTES];
    struct driver d = { .registry = bt_registry_create(NULL) };
    const char *locale = getenv("BATON_MODEL_LOCALE");
    if (!d.registry || close_program(&d) || (locale && !setlocale(LC_ALL, locale)))
        return EXIT_FAILURE;
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        bt_status status = answer(&d, line);
        if (status)
            print_error(&d, status);
        fflush(stdout);
    }
    bt_program_close(d.program);
    bt_ctx_destroy(d.ctx);
    bt_registry_unref(d.registry);
    return EXIT_SUCCESS;
}
