/* The programs of a training: their text, and what is compiled of it. */
#include "training.h"

/* The executor is the fastest that can. */
static bt_status open_entry(struct bt_training *t, const char *entry, bt_program **out)
{
    const bt_program_options options = {
        .entry = entry,
        .target = t->options.target ? t->options.target : "cpu",
        .memory = t->options.checkpoint_memory,
    };
    return bt_program_open(t->ctx, t->path, &options, out);
}

static bt_status write_text(struct bt_training *t)
{
    bt_text path, text, plain;
    bt_text_init(&path, t->arena);
    bt_text_addf(&path, "%s/step.baton", t->options.folder);
    bt_text_init(&text, t->arena);
    bt_text_init(&plain, t->arena);
    BT_TRY(training_text(t, 1, &text));
    BT_TRY(training_text(t, 0, &plain)); // a model that moved is the same
    bt_digest(plain.at, plain.len, t->digest);
    t->path = bt_text_get(&path);
    return t->path ? bt_file_write(t->ctx, t->path, text.at, text.len) : bt_no_memory();
}

bt_status training_programs_open(struct bt_training *t)
{
    BT_TRY(write_text(t));
    BT_TRY(training_initial_draw(t));
    BT_TRY(open_entry(t, "train.step", &t->stepping));
    if (t->nmicro > 1)
        BT_TRY(open_entry(t, "train.add", &t->adding));
    return open_entry(t, "train.evaluate", &t->evaluating);
}
