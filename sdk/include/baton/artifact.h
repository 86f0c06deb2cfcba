/*
 * Artifacts: compiled programs in files. One file holds the planned program, its
 * constants, and the code of its targets; running it neither infers, optimises nor compiles.
 *
 *     header     magic, version, byte order, table of sections, checksums
 *     sections   program     the planned module, as text
 *                tensors     name, type and place of each constant
 *                constants   their elements; mapped, and shared between processes
 *                functions   primitive functions: who computes each, and what a call costs
 *                kernels     name, type, target and code of each, in the order of their numbers
 *                code        pieces of code: objects, bytes of the targets' own
 *                targets     entry, executor, targets with their options, compatibility
 *                            texts
 *                provenance  who made it
 *
 * Open artifacts of those only whose plugins you would load: code is trusted as a plugin's
 * is, with what sections kernels and code say of it. The program is not: each memory.invoke
 * must give its kernel the buffers, dims and workspace of the kernel's type. Damage of any
 * kind is an error.
 */
#ifndef BATON_ARTIFACT_H
#define BATON_ARTIFACT_H

#include <baton/compiled.h>
#include <baton/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_artifact_target {
    const char *text;          /* "cpu{threads=2}" */
    const char *compatibility; /* what its code needs; "": not stated */
} bt_artifact_target;

typedef struct bt_artifact_section {
    const char *name; /* "constants" */
    uint64_t offset, nbytes;
    uint32_t checksum; /* CRC-32C of its bytes */
} bt_artifact_section;

/* A file, read and checked; its code is not loaded. */
typedef struct bt_artifact {
    const char *path;
    uint64_t nbytes;
    uint32_t nsection;
    const bt_artifact_section *sections; /* in the order of the file */
    const char *entry;                   /* the function that was compiled */
    const char *executor;                /* that was asked for; "": the first that can */
    const char *provenance;              /* lines: "baton 0.1.0", "plugin ID VERSION",
                                            "pipeline DIGEST" */
    uint32_t ntarget;                    /* those that compute something of it */
    const bt_artifact_target *targets;
    uint32_t nfunc;
    const bt_compiled_func *const *funcs;
    uint32_t nkernel;
    const bt_compiled_kernel *const *kernels;
    const bt_kernel_code *const *codes; /* of each */
    uint32_t nconstant;
    /* planned, the entry alone; its constants lie in the mapped file */
    bt_module *module;
    uint64_t unpacked_nbytes, packed_nbytes; /* of all constants: see bt_compiled */
} bt_artifact;

/* Writes a compiled module, atomically; the same module gives the same bytes. `pipeline`:
 * the digest of what optimised it (bt_pipeline_resolve), 0: unknown.
 * errors  BT_ERR_IO */
BT_API bt_status bt_artifact_write(bt_ctx *, const bt_compiled *, uint64_t pipeline,
                                   const char *path) BT_MUST_USE;
/* Whether a file begins as an artifact does. 0 also where it cannot be read. */
BT_API int bt_artifact_is(const char *path);
/* Maps and checks a file. It may be replaced meanwhile, since bt_artifact_write makes a
 * new one, but must not be shortened.
 * errors  BT_ERR_IO, BT_ERR_LIMIT, BT_ERR_FORMAT (with what is wrong where),
 *         BT_ERR_UNSUPPORTED (another version, another byte order), BT_ERR_NAME (an
 *         operator that no plugin has) */
BT_API bt_status bt_artifact_read(bt_ctx *, const char *path,
                                  bt_artifact **out) BT_MUST_USE;
BT_API void bt_artifact_close(bt_artifact *); /* accepts NULL */
/* Opens its targets and loads their code. The artifact may be closed after. `targets`: the
 * same ones with other options, "cpu{threads=1}", where these matter to who runs it; NULL:
 * with those that it was compiled for. Plugins that are open, and Baton, are remarked on
 * where provenance names another version of them.
 * errors  BT_ERR_NAME (no such target), BT_ERR_UNSUPPORTED (not for this machine: why),
 *         BT_ERR_ARGUMENT (other targets) */
BT_API bt_status bt_artifact_load(bt_ctx *, const bt_artifact *, const char *targets,
                                  bt_compiled **out) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
