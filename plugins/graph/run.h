/* Running the steps of a session. */
#ifndef GRAPH_RUN_H
#define GRAPH_RUN_H

#include "session.h"

/* All of them, to their end, whether they fail or not. */
bt_status run_steps(bt_ctx *, struct session *, const bt_run_hook *);
/* Where the host finds a tensor. */
void *place_address(const struct session *, const struct place *);
/* Elements from one address to another, which may be the same. */
void copy_bytes(void *to, const void *from, size_t nbytes);
/* Closes all queues. */
void close_queues(struct session *);

#endif
