/* Functions of <baton/convert.h>, floats.h and integers.h: a text holds those it calls. */
#ifndef C_FUNCTIONS_H
#define C_FUNCTIONS_H

#include <baton/base.h>

/* Parts of these files, which the build makes of them; NULL behind the last. */
extern const char *const c_function_blocks[];

struct c_functions {
    uint32_t n;
    const char *const *blocks; /* the text of each, with its comment */
    const char **names;        /* NULL: a block without a function */
    uint8_t *is_used;
};

/* Of blocks such as these. 0: no memory. */
int c_functions_init(struct c_functions *, bt_arena *, const char *const *blocks);
/* Whether there is one of this name, which is then used. */
int c_functions_use(struct c_functions *, const char *name);
/* Those that a text calls are used. */
void c_functions_use_in(struct c_functions *, const char *text);
/* Those that used ones call are used. */
void c_functions_close(struct c_functions *);
/* Those that are used, and those that they call. */
void c_functions_write(struct c_functions *, bt_text *out);

#endif
