/* Derivatives of a call: as programs, and by differences. */
#ifndef GRADIENT_H
#define GRADIENT_H

#include <baton/compute.h>
#include <baton/executor.h>

#include "case_run.h"

enum { GRADIENT_MAX_DIM = 16 };

/* Programs of one call, by executor interp. Their arguments are those of the call, then a
 * tensor for each leaf of floats of what they take besides; they give one for each of what they
 * give besides where that is not zero.
 *     vjp     adjoints of the results              -> adjoints of the arguments
 *     jvp     tangents of the arguments            -> tangents of the results
 *     second  adjoints of the results, tangents of the arguments
 *                                                  -> tangents of the arguments' adjoints */
enum { GRADIENT_VJP, GRADIENT_JVP, GRADIENT_SECOND, GRADIENT_NPROGRAM };

struct gradient {
    struct op_check *w;
    const struct call_case *c;
    const bt_call *call;
    uint32_t nin, nout;            /* leaves */
    uint8_t wants[CASE_MAX_LEAF];  /* of floats, and not blocked on purpose */
    uint8_t is_real[CALL_MAX_OUT]; /* of floats, and not blocked on purpose */
    const bt_executor *interp;
    /* The facet of an operator in plain C has a vjp and no jvp: nothing is known of tangents,
     * nor of second derivatives where the vjp calls such an operator. */
    uint8_t is_unknown[GRADIENT_NPROGRAM];
    bt_module
        *modules[GRADIENT_NPROGRAM]; /* NULL: unknown, or all that it gives is zero */
    void *sessions[GRADIENT_NPROGRAM];
    uint8_t gives[GRADIENT_NPROGRAM][CASE_MAX_LEAF]; /* of each leaf: it is not zero */
    bt_compute *primal;
    /* dims of its functions in place of sizes above 1 */
    uint32_t is_open, ndim;
    int64_t sizes[GRADIENT_MAX_DIM];
    const bt_type *vars[GRADIENT_MAX_DIM];
};

/* Builds the programs. A failure is one of the call or of its derivatives; *program says which
 * (GRADIENT_NPROGRAM: the call). */
bt_status gradient_open(struct op_check *, const struct call_case *, int is_open,
                        struct gradient *out, uint32_t *program) BT_MUST_USE;
/* One of its programs again, which takes the seed of one result alone, and gives the adjoint of
 * one leaf of the arguments alone, or takes its tangent alone. */
enum { GRADIENT_ALL = UINT32_MAX };
bt_status gradient_open_part(const struct gradient *, uint32_t program, uint32_t want,
                             uint32_t seed, struct gradient *out) BT_MUST_USE;
void gradient_close(struct gradient *);
/* The dtype of a leaf of its results. */
bt_dtype gradient_result(const struct gradient *, uint32_t leaf);
/* in: of each leaf of the arguments. seeds: of each leaf of the results, tangents: of the
 * arguments; those that the program takes. out: of each leaf of what it gives, NULL where it
 * is zero; the caller's to unref. */
bt_status gradient_run(struct gradient *, uint32_t program, bt_tensor *const *in,
                       bt_tensor *const *seeds, bt_tensor *const *tangents,
                       bt_tensor **out) BT_MUST_USE;

/* What has been seen of an operator. */
struct gradient_tally {
    uint32_t may_refuse;    /* set before: cases are made, and may be none */
    uint32_t ncase;         /* with floats among arguments and results */
    uint32_t nempty;        /* of these: without elements, so that nothing was compared */
    uint32_t nsmall, nopen; /* that were compared in fewer bits, and with dims */
    uint32_t nfailed;       /* of made cases: without a value, or smooth nowhere */
    uint32_t npoint, nredrawn;
    const char *none;    /* why it has no derivative; NULL: it has one */
    const char *instead; /* why what it has is none; NULL: it is one */
    uint32_t is_alone;   /* there is a vjp, and no jvp */
    const char
        *closed; /* why there is none with dims; NULL: there is, or it takes none */
};
/* What must hold of the derivatives of a case, in each type of floats that it can have. Faults
 * are added to those of the operator. */
bt_status gradient_check(struct op_check *, const struct call_case *,
                         struct gradient_tally *) BT_MUST_USE;
/* The part of it that takes differences. */
bt_status gradient_laws(struct gradient *, struct gradient_tally *) BT_MUST_USE;

#endif
