/* The table of fields, for what goes over all of them: bytes and text. */
#ifndef NPU_FIELDS_H
#define NPU_FIELDS_H

#include "stream.h"

struct npu_field {
    const char *ops; /* letters of the instructions that have it; NULL ends the table */
    uint32_t at, nbytes, is_signed; /* in the bytes */
    size_t member;                  /* in the struct */
    const char *name;
};
extern const struct npu_field npu_fields[];

int npu_field_is_of(const struct npu_field *, uint32_t op);
int64_t npu_field_get(const struct npu_field *, const struct npu_instruction *);
/* Keeps the field's bytes of a value. */
void npu_field_set(const struct npu_field *, int64_t value, struct npu_instruction *);

#endif
