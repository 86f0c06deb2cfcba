/*
 * Records of what was measured: which ways to compute a function were the fastest (tune.h), in a
 * text file that any number of processes share.
 *
 *     baton.cpu.tune 2
 *     DIGEST MACHINE FUNCTION NAME  PROGRAM SUM WAY NS TAKEN  PROGRAM SUM WAY NS TAKEN ...
 *
 * A line for each function, its fields with tabs between: the digest is that of the rest of the
 * line, five fields are a choice (schedule/choice.h) that is taken or was measured. Lines are added
 * at the end. One that was damaged is as if it were not there. What a way is called is text of a
 * file: it is only compared with the names of ways that there are.
 */
#ifndef CPU_RECORDS_H
#define CPU_RECORDS_H

#include "schedule/choice.h"

struct cpu_record {
    const char *machine, *function; /* whose it is: facts, a digest */
    const char *name;               /* of the function, for people */
    uint32_t nchoice;
    const struct cpu_choice *choices;
};

struct cpu_records {
    bt_vec(struct cpu_record) all;
    uint32_t ndamaged; /* lines */
};

/* Makes a file without records where there is none.
 * errors  BT_ERR_ARGUMENT: there is no such folder; BT_ERR_IO: it cannot be written */
bt_status cpu_records_begin(bt_ctx *, const char *path) BT_MUST_USE;
/* Those of a file, which need not be there, in the arena.
 * errors  BT_ERR_FORMAT: it is no file of records, or of another version; BT_ERR_LIMIT */
bt_status cpu_records_read(bt_ctx *, bt_arena *, const char *path,
                           struct cpu_records *out) BT_MUST_USE;
/* The same of a file's text. */
bt_status cpu_records_parse(bt_ctx *, bt_arena *, const char *path, const char *text,
                            size_t nbytes, struct cpu_records *out) BT_MUST_USE;
/* The first one of a function; NULL: there is none. */
const struct cpu_record *cpu_records_find(const struct cpu_records *, const char *machine,
                                          const char *function);
/* Adds one to a file, unless there is one of the same function meanwhile: *record is that then.
 * errors  those of reading; BT_ERR_IO: it cannot be written, or another process keeps its lock */
bt_status cpu_records_add(bt_ctx *, bt_arena *, const char *path,
                          struct cpu_record *record) BT_MUST_USE;

#endif
