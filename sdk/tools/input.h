/* Values from the command line: [NAME=]VALUE. */
#ifndef INPUT_H
#define INPUT_H

#include "tool.h"

/* Why a value of this type cannot be given on the command line: what it is ("a function",
 * "of a data type"). NULL: it can. */
const char *input_obstacle(const bt_port *);
/* "random:1", or "1x3xfloat32=random:1" where a dim is symbolic: 1 stands for it. Whether
 * that is so. */
int add_random_value(bt_text *, const bt_port *, uint32_t seed);
/* What a VALUE tells of its tensor whatever the input is. */
enum { VALUE_SMALL = 32 }; /* elements of a value that may settle shapes */
struct value_facts {
    int32_t rank; /* -1: it tells no shape */
    int64_t dims[BT_MAX_RANK];
    /* A number, or a list of few, as text; NULL: others, or not told. */
    const char *numbers;
    uint32_t is_float;
};
/* Reads a file if the value names one, but nothing that can be read once only. */
bt_status look_at_value(bt_ctx *, const char *text, struct value_facts *out) BT_MUST_USE;
/* NAME of NAME=VALUE among names of inputs: the length of the longest that the text begins
 * with, 0: none. */
size_t match_name(const char *text, const char *name);
/* Sets the inputs named by -i; NAME= may be left out where the program has one input. What
 * is not named is random, from `seed` on; 0: it is missing. */
int set_inputs(struct tool *, bt_program *, const char *const *texts, uint32_t seed);

// clang-format off
#define INPUT_HELP \
    "VALUE is FILE.npy, FILE.npz:KEY, FILE.pb, or [SHAPExDTYPE=]CONTENT. CONTENT is\n" \
    "  a number         for every element\n"                                          \
    "  [1, -2, 3]       a list, nested as deep as the rank: [[1, 2], [3, 4]]\n"       \
    "  random:SEED      floats uniform in [0, 1), integers 0 to 9\n"                  \
    "as in -i x=random:1 -i y=0.5 -i 'z=[1, 2, 3]'. SHAPExDTYPE is for what the\n"     \
    "program leaves open, -i x=2x3xfloat32=random:1; a list has a shape of its own.\n" \
    "Fields of a tuple are given one by one: -i p.0=1 -i 'p.1=[1, 2]'."
// clang-format on

#endif
