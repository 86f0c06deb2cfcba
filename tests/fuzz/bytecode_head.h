/* What stands before code of target cpu: the word "batoncpu" and a digest, which fuzz_bytecode
 * makes itself. */
enum { BYTECODE_HEAD = 8 + 64 };
