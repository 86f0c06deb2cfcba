/*
 * Which layers stay in float so that a program loses little.
 * The layers in order of their noise for each product saved: the shortest head of that order
 * that loses little enough is found by halving; then each of it is tried in codes again, the
 * one with most products first.
 */
#ifndef FLOAT_SEARCH_H
#define FLOAT_SEARCH_H

#include <stdint.h>

struct float_layer {
    const char *name;
    double noise;   /* what its codes lose, of the signal */
    double nadd;    /* multiply-adds */
    int is_float;   /* the answer */
    const void *id; /* of who searches */
    uint32_t place; /* in the program */
};

struct float_search {
    uint32_t nlayer, nfixed; /* behind those that may have codes, those that have none */
    struct float_layer *layers;
    double loss;    /* at most */
    int64_t ntrial; /* at most */
    /* How much is lost with the layers that are float now. Gives an exit code. */
    int (*measure)(void *self, double *loss);
    void *self;
    double found;  /* filled: what the answer loses */
    int64_t ndone; /* trials that there were */
    int is_met;
};

/* Layers come back in the order of the program. Gives an exit code. */
int search_floats(struct float_search *);

#endif
