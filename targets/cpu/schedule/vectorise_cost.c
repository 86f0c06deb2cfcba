/*
 * What a program of strips costs: a call, and for each element what it is to touch or
 * compute it. Only how ways to do the same compare matters.
 */
#include <string.h>

#include "lanes.h"

#include "primitives/halo.h"
#include "primitives/pack.h"
#include "primitives/tile.h"

static const double call_ns = 5;

/* Beginnings of names; others cost as much as one pass over float32 in L1. */
static const struct {
    const char *name;
    double element_ns;
} prices[] = {
    { "copy.", 0.04 },     { "fill.", 0.03 },     { "load.", 0.3 },
    { "store.", 0.4 },     { "gather.", 0.5 },    { "scatter.", 1 },
    { "iota.", 0.1 },      { "reduce_arg", 1 },   { "exp", 0.4 },
    { "log", 0.5 },        { "pow.", 2 },         { "tanh.", 0.5 },
    { "sigmoid.", 0.5 },   { "erf.", 0.5 },       { "mul_sigmoid.", 0.5 },
    { "sin", 1 },          { "cos", 1 },          { "tan.", 1 },
    { "acos", 1 },         { "asin", 1 },         { "atan", 1 },
    { "a", 0.06 },         { "div.float", 0.15 }, { "sqrt", 0.15 },
    { "floordiv.int", 2 }, { "truncdiv.int", 2 }, { "div.", 2 },
    { "mod.", 2 },         { "truncmod.", 2 },    { "ceildiv.", 2 },
};

static double element_cost(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(prices); i++) {
        if (strncmp(name, prices[i].name, strlen(prices[i].name)) == 0)
            return prices[i].element_ns *
                   (strstr(name, "float64") || strstr(name, "64") ? 2 : 1);
    }
    return strstr(name, "64") ? 0.12 : 0.06;
}

/* Calls whose work is a product of integers: numbers of these, ended by -1. */
static const struct {
    const char *name;
    double ns;
    int factors[6];
} blocks[] = {
    { "tile_",
      0.008,
      { CPU_TILE_M, CPU_TILE_N, CPU_TILE_K, CPU_TILE_K1, CPU_TILE_K2, -1 } },
    { "line_",
      0.008,
      { CPU_TILE_M, CPU_TILE_N, CPU_TILE_K, CPU_TILE_K1, CPU_TILE_K2, -1 } },
    { "pack.", 0.3, { CPU_PACK_K, CPU_PACK_WIDTH, -1 } },
    { "halo.", 0.1, { CPU_HALO_ROWS, CPU_HALO_WIDTH, -1 } },
};

/* 0: it is none of these. */
static double cost_of_block(const bt_stmt *stmt)
{
    for (uint32_t i = 0; i < BT_COUNT(blocks); i++) {
        double ns = blocks[i].ns;
        uint32_t first = 0;
        if (strncmp(stmt->callee, blocks[i].name, strlen(blocks[i].name)) != 0)
            continue;
        while (first < stmt->narg && stmt->args[first].is_address)
            first++;
        for (const int *n = blocks[i].factors; *n >= 0; n++)
            ns *= (double)stmt->args[first + (uint32_t)*n].value->high;
        return call_ns + ns;
    }
    return 0;
}

/* Elements far from each other are each in a cache line of its own. */
static double stride_cost(const bt_stmt *stmt)
{
    int64_t stride;
    int is_strided =
        strncmp(stmt->callee, "load.", 5) == 0 || strncmp(stmt->callee, "store.", 6) == 0;
    if (!is_strided || !bt_node_is_const(stmt->args[stmt->narg - 1].value, &stride))
        return 1;
    return stride > 16 || stride < -16 ? 5 : 1;
}

static double cost_of_call(const bt_stmt *stmt)
{
    double cost = cost_of_block(stmt);
    if (cost > 0)
        return cost;
    for (uint32_t i = 0; i < stmt->narg; i++) {
        // the first integer is the count
        if (!stmt->args[i].is_address)
            return call_ns + element_cost(stmt->callee) * stride_cost(stmt) *
                                 (double)stmt->args[i].value->high;
    }
    return call_ns;
}

double cpu_cost(const bt_stmts *block)
{
    double sum = 0;
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        double yes, no;
        switch (stmt->kind) {
        case BT_STMT_FOR:
            sum += (double)bt_node_number(stmt->extent) * (1 + cpu_cost(&stmt->body));
            break;
        case BT_STMT_IF:
            yes = cpu_cost(&stmt->body);
            no = cpu_cost(&stmt->otherwise);
            sum += 1 + (yes > no ? yes : no);
            break;
        case BT_STMT_CALL: sum += cost_of_call(stmt); break;
        default: sum += 1;
        }
    }
    return sum;
}
