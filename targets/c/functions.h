/* Functions of floats.h and integers.h, of which a text holds those that it calls. */
#ifndef C_FUNCTIONS_H
#define C_FUNCTIONS_H

#include <baton/base.h>

/* Parts of both files, which the build makes of them; NULL behind the last. */
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
/* Those that are used, and those that they call. */
void c_functions_write(struct c_functions *, bt_text *out);

#endif
