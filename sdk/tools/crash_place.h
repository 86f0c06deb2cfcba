/* Where in a plugin's code a crash is, by the stack. */
#ifndef CRASH_PLACE_H
#define CRASH_PLACE_H

#include <stddef.h>

enum { CRASH_NAME = 96 };

struct crash_place {
    char object[CRASH_NAME];   /* the file of the plugin: "npu.so" */
    char function[CRASH_NAME]; /* in which it is; "" : its symbols are not kept */
    char from
        [CRASH_NAME]; /* that of the plugin which Baton called, or a thread began with;
                                  "": the same */
    int is_thread;    /* 1: a thread of the plugin's own */
    int is_called;    /* 1: the plugin of the manifest that was given has called it */
};

/* To be called once before. */
void crash_place_prepare(void);
/* In a signal handler: 1, it is in a plugin's object, or was called by one. `manifest`: the
 * path of that of a plugin which was at work; NULL: none. */
int crash_place_find(struct crash_place *out, const char *manifest);

#endif
