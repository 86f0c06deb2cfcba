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

/* The text of a step imports what it has of libraries, which may change while their names stay. */
static bt_status add_library(const struct bt_training *t, const struct choice *c,
                             bt_text *out)
{
    const bt_print_options plain = { 0 };
    return c->library ? bt_print(t->ctx, c->of, &plain, out) : NULL;
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
    BT_TRY(add_library(t, &t->loss, &plain));
    BT_TRY(add_library(t, &t->optimizer, &plain));
    BT_TRY(add_library(t, &t->schedule, &plain));
    if (!bt_text_get(&plain))
        return bt_no_memory();
    bt_digest(plain.at, plain.len, t->digest);
    t->path = bt_text_get(&path);
    return t->path ? bt_file_write(t->ctx, t->path, text.at, text.len) : bt_no_memory();
}

bt_status training_programs_open(struct bt_training *t)
{
    BT_TRY(write_text(t));
    if (t->options.only_evaluates)
        return open_entry(t, "train.evaluate", &t->evaluating);
    BT_TRY(training_initial_draw(t));
    BT_TRY(open_entry(t, "train.step", &t->stepping));
    if (t->nmicro > 1)
        BT_TRY(open_entry(t, "train.add", &t->adding));
    return open_entry(t, "train.evaluate", &t->evaluating);
}
