/* What a training may be asked for, of all libraries. */
#ifndef LIST_CHOICES_H
#define LIST_CHOICES_H

#include "tool.h"

/* The words that are listed, by numbers from 0 on; NULL: no more. */
const char *choices_word(uint32_t);
/* What one of them is called, "loss" of "losses", as in @loss.NAME; NULL: no more. */
const char *choices_kind(uint32_t);
/* baton list losses, or losses NAME. */
int list_choices(struct tool *, uint32_t word, const char *name);

#endif
