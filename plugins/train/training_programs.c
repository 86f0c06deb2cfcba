/* The programs of a training: their text, and what is compiled of it. */
#include "training.h"

/* Within the budget that is asked for. */
static bt_status open_within(struct bt_training *t, bt_program_options *options,
                             const char *executor, const char *fusing, bt_program **out)
{
    const long long nbytes = t->options.checkpoint_memory;
    bt_text fuse, plan;
    bt_text_init(&fuse, t->arena);
    bt_text_init(&plan, t->arena);
    bt_text_addf(&fuse, "%s{memory=%lld}", fusing, nbytes);
    bt_text_addf(&plan, "plan{memory=%lld}", nbytes);
    options->fuse = bt_text_get(&fuse);
    options->plan = bt_text_get(&plan);
    options->executor = executor;
    return options->fuse && options->plan ? bt_program_open(t->ctx, t->path, options, out)
                                          : bt_no_memory();
}

/* The executor is the fastest that can; a budget is for each of them in its own pipeline. */
static bt_status open_entry(struct bt_training *t, const char *entry, bt_program **out)
{
    bt_program_options options = { .entry = entry,
                                   .target =
                                       t->options.target ? t->options.target : "cpu" };
    if (!t->options.checkpoint_memory)
        return bt_program_open(t->ctx, t->path, &options, out);
    bt_status status = open_within(t, &options, "graph", "fuse", out);
    return status && status->code == BT_ERR_UNSUPPORTED
               ? open_within(t, &options, "vm", "fuse-control", out)
               : status;
}

static bt_status write_text(struct bt_training *t)
{
    bt_text path, text, plain;
    bt_text_init(&path, t->arena);
    bt_text_addf(&path, "%s/step.baton", t->options.folder);
    bt_text_init(&text, t->arena);
    bt_text_init(&plain, t->arena);
    BT_TRY(step_text(t, 1, &text));
    BT_TRY(step_text(t, 0, &plain)); // a model that moved is the same
    bt_digest(plain.at, plain.len, t->digest);
    t->path = bt_text_get(&path);
    return t->path ? bt_file_write(t->ctx, t->path, text.at, text.len) : bt_no_memory();
}

bt_status programs_open(struct bt_training *t)
{
    BT_TRY(write_text(t));
    BT_TRY(initial_draw(t));
    BT_TRY(open_entry(t, "train.step", &t->stepping));
    if (t->nmicro > 1)
        BT_TRY(open_entry(t, "train.add", &t->adding));
    return open_entry(t, "train.evaluate", &t->evaluating);
}
