#include "onnx_check.h"

#include <string.h>

#include <baton/onnx.h>
#include <baton/op.h>
#include <baton/plugin.h>

/* Why a row cannot be used; NULL: it can. */
static const char *fault_of(struct tool *tool, const bt_onnx_operator *row)
{
    const char *dash = strrchr(row->name, '-'), *dot = strrchr(row->name, '.');
    const bt_op *op;
    if (!dot || !dash || dash < dot || dash[1] < '1' || dash[1] > '9' ||
        dash[1 + strspn(dash + 1, "0123456789")])
        return "its name is not DOMAIN.OPERATOR-VERSION, as in com.example.Swish-1";
    if (row->convert)
        return NULL;
    if (!row->arg)
        return "it states neither convert nor arg";
    bt_status status = bt_op_get(tool->ctx, row->arg, &op);
    return status ? status->message : NULL;
}

int check_onnx(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    uint32_t nrow = 0, nwrong = 0;
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, BT_ONNX_INTERFACE); i++) {
        bt_provided item;
        const void *row;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, BT_ONNX_INTERFACE, i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        nrow++;
        bt_status status = bt_registry_row(tool->ctx, BT_ONNX_INTERFACE, item.name,
                                           sizeof(bt_onnx_operator), &row);
        const char *fault = status ? status->message : fault_of(tool, row);
        if (fault)
            printf("ONNX %s: FAILED: %s\n", item.name, fault);
        nwrong += fault != NULL;
        bt_ctx_clear_diags(tool->ctx);
    }
    if (nrow)
        printf("%u operator%s of ONNX models, %u with faults\n", nrow, PLURAL(nrow),
               nwrong);
    *nbroken += nwrong;
    return EXIT_OK;
}
