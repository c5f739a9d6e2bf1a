/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The host: what the cores must agree with. */
#include <stdio.h>

#include "board.h"

void board_print(const char *text)
{
    fputs(text, stdout);
}

void board_paint_stack(void)
{
}

size_t board_stack_depth(void)
{
    return 0;
}
