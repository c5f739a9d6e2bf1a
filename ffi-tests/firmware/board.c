/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A bare core under QEMU: reset, memory, semihosting, the depth of the stack. Arm Cortex-M and
 * RISC-V. No C library: the compiler's calls to memcpy and the like find those in libofp8.a.
 */
#include "board.h"

#include <stdint.h>

int main(void);

/* Symbols of the linker scripts. */
extern uint32_t image_data[], data_begin[], data_end[], bss_end[], stack_end[];

/* Semihosting calls (Arm IHI 0100). */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20 };
#define APPLICATION_EXIT 0x20026u

static void semihost(uint32_t call, const void *argument)
{
#ifdef __riscv
    register uint32_t a0 __asm__("a0") = call;
    register const void *a1 __asm__("a1") = argument;
    /* Three uncompressed instructions that a debugger knows, within one page. */
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
#else
    register uint32_t r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

void board_print(const char *text)
{
    semihost(SYS_WRITE0, text);
}

static _Noreturn void leave(int status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

static _Noreturn void fault(void)
{
    board_print("fault\n");
    leave(2);
}

#ifdef __ARM_FP
/* What firmware may have set in FPSCR: flushing of subnormals, the default NaN, rounding toward zero. */
#define UNUSUAL (1u << 25 | 1u << 24 | 3u << 22)

static uint32_t environment(void)
{
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr)::"memory");
    return fpscr & ~0xF000009Fu; /* without the flags of comparisons and exceptions */
}
#endif

/* The program, in an unusual floating-point environment, which must be there afterwards too. */
static int run(void)
{
#ifdef __ARM_FP
    __asm__ volatile("vmsr fpscr, %0" ::"r"(UNUSUAL) : "memory");
    const int status = main();
    if (environment() != UNUSUAL) {
        board_print("the floating-point environment was changed\n");
        return 3;
    }
    return status;
#else
    return main();
#endif
}

static _Noreturn void start(void)
{
    const uint32_t *from = image_data;
    for (uint32_t *to = data_begin; to != data_end; ++to) {
        *to = *from++;
    }
    for (uint32_t *to = data_end; to != bss_end; ++to) {
        *to = 0;
    }
    leave(run());
}

#ifdef __riscv
__attribute__((naked, section(".reset"), used)) void reset(void)
{
    __asm__ volatile("la sp, stack_begin\n"
                     "la t0, %0\n"
                     "csrw mtvec, t0\n"
                     "j %1\n"
                     :
                     : "i"(fault), "i"(start));
}
#else
extern uint32_t stack_begin[];

_Noreturn void reset(void)
{
#ifdef __ARM_FP
    /* CPACR: full access to coprocessors 10 and 11, which are the FPU. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
#endif
    start();
}

__attribute__((section(".reset"), used)) static const void *const vectors[16] = {
    stack_begin, (const void *)reset, (const void *)fault, (const void *)fault,
};
#endif

#define PATTERN 0xC0DEC0DEu

static uint32_t *painted_from;

__attribute__((noinline)) void board_paint_stack(void)
{
    uint32_t *const here = __builtin_frame_address(0);
    /* This function's own frame lies below, a few words. */
    painted_from = here;
    for (volatile uint32_t *word = stack_end; word < here - 16; ++word) {
        *word = PATTERN;
    }
}

__attribute__((noinline)) size_t board_stack_depth(void)
{
    const volatile uint32_t *word = stack_end;
    while (*word == PATTERN && word < painted_from) {
        ++word;
    }
    return (size_t)((const volatile char *)painted_from - (const volatile char *)word);
}
