/*
 * A program run on samples by several processes, and what it gives, as numbers.
 * Process p of P has the samples i with i mod P = p. What they give is put together in order
 * of the samples, so that it is the same however many there are.
 */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include "tool.h"

struct sample_run {
    struct tool *tool;
    const char *what;          /* shown while it goes on: "ranges" */
    const char *const *models; /* NULL-terminated; each gets the samples */
    const char *entry;         /* function; NULL: main, or the only one */
    const char *folder;        /* of samples */
    double factor;
    int64_t nsample; /* at most; 0: all */
    uint32_t nprocess;
    const char *work; /* a folder for what processes write */
    /* Called with all elements of the results of one sample, model after model, in order of
     * the samples. */
    void (*take)(void *self, int64_t sample, int64_t n, const double *row);
    /* Where the order does not matter: what two rows are together, so that each process hands
     * over one; `take` gets one row in all. NULL: each sample has its own. */
    void (*fold)(int64_t n, double *row, const double *other);
    void *self;
    int64_t ndone; /* filled: samples that there were */
};

/* Gives an exit code. */
int run_samples(struct sample_run *);

#endif
