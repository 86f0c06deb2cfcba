/* Slots of pipelines, and what plugins put into them. */
#ifndef SLOTS_H
#define SLOTS_H

#include "tool.h"

/* baton list slots: each slot, and the pipelines that have it. */
int list_slots(struct tool *);
/* Whether what a plugin contributes can run: the slot is there, passes are known and take
 * their options. Prints what is wrong; *nbroken counts it. */
int check_contributions(struct tool *, const char *plugin, uint32_t *nbroken);
/* A remark for each contribution to a slot that no pipeline has: nothing else would say
 * that it does not run. */
bt_status remark_lost_contributions(bt_ctx *) BT_MUST_USE;

#endif
