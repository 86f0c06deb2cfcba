/* What a user writes: a list is built, the program runs, its result is read. */
#include <stdio.h>
#include <stdlib.h>

#include "values.h"

static int fails(int32_t fault)
{
    if (fault != 0)
        fprintf(stderr, "%s\n", values_fault(fault));
    return fault != 0;
}

/* A tuple (number, elements) before a list, whose reference is taken. */
static int32_t cons(struct values_machine *m, const int64_t *number,
                    const float *elements, struct values_value **list)
{
    const int64_t dims[] = { 3 };
    struct values_value *pair[2], *fields[2];
    int32_t fault = values_tensor(m, 0, NULL, number, &pair[0]);
    if (fault == 0)
        fault = values_tensor(m, 1, dims, elements, &pair[1]);
    if (fault == 0)
        fault = values_fields(m, 0, 2, pair, &fields[0]);
    fields[1] = *list;
    return fault == 0 ? values_fields(m, values_List_Cons, 2, fields, list) : fault;
}

static void print(const struct values_value *list)
{
    while (values_tag(list) == values_List_Cons) {
        const struct values_value *pair = values_field(list, 0);
        const struct values_value *row = values_field(pair, 1);
        const int64_t *number = values_elements(values_field(pair, 0));
        const float *x = values_elements(row);
        printf("%ld: %g %g %g (%ld)\n", (long)*number, (double)x[0], (double)x[1],
               (double)x[2], (long)values_dim(row, 0));
        list = values_field(list, 1);
    }
}

int main(int argc, char **argv)
{
    static const float rows[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    static const int64_t numbers[2] = { 7, 8 };
    static const float by[20] = { 0.5f, 0.5f, 0.5f };
    const int64_t n = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
    const size_t nbytes = 1 << 16;
    char *given = malloc(nbytes + 64);
    struct values_machine *m;
    struct values_value *list, *factor, *result;
    if (!given ||
        fails(values_begin(given + (64 - (uintptr_t)given % 64), nbytes, 100, NULL, &m)))
        return 1;
    if (fails(values_fields(m, values_List_Nil, 0, NULL, &list)) ||
        fails(cons(m, &numbers[1], rows[1], &list)) ||
        fails(cons(m, &numbers[0], rows[0], &list)) ||
        fails(values_tensor(m, 1, &n, by, &factor)) ||
        fails(values_run(m, n, list, factor, &result)))
        return 1;
    print(result);
    values_drop(m, result);
    free(given);
    return 0;
}
