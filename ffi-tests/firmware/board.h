/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program asks of the machine it runs on: an emulated core, or the host (host.c). */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

/* Writes a text to where the emulator (or the host) prints. */
void board_print(const char *text);

/* Fills the free stack with a pattern. */
void board_paint_stack(void);

/* The depth of the stack since then, from the caller's frame down; 0 where it is not measured. */
size_t board_stack_depth(void);

#endif
