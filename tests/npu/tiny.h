/* A configuration of small memories, few tokens, and tiles of other sizes than the machines that
 * are built in have: 2 x 4 and 8 x 4. */
#ifndef NPU_TINY_H
#define NPU_TINY_H

static const char tiny[] =
    "{ \"format\": 1, \"batch\": 2, \"in\": 4, \"out\": 8, \"weight_bits\": [8, 4, 2],"
    "  \"multiplier\": true, \"dram\": { \"nbytes\": 1048576, \"bus\": 8 }, \"mhz\": 100,"
    "  \"scratch\": { \"uop\": 1024, \"inp\": 1024, \"wgt\": 1024, \"acc\": 1024 },"
    "  \"queue\": { \"depth\": 4, \"tokens\": 2 },"
    "  \"cycles\": { \"dispatch\": 1, \"gemm_fill\": 5, \"alu_fill\": 4, \"distance\": 3,"
    "                \"dma_latency\": 10, \"dma_row\": 1 } }";

#endif
