/* Marks in a real-time loop, for those who look at it: where a cycle begins and ends, and which stage it is in.
 *
 * This header needs nothing: no library, no other header, no set-up. Copy it into your project. Each mark is one `nop` in
 * the code, and a note in a part of the file that is not loaded. While nobody looks, it costs that one instruction: it reads
 * no memory, takes no register and changes no branch. `punctual inspect` finds the marks of a running program in its files
 * and makes cycles and stages of them; perf, bpftrace and SystemTap find them as USDT probes of the provider `punctual`.
 *
 *     for (;;) {
 *             wait_for_release();
 *             PUNCTUAL_CYCLE_BEGIN();
 *             PUNCTUAL_STAGE(read);
 *             read_inputs();
 *             PUNCTUAL_STAGE(control);
 *             compute();
 *             PUNCTUAL_CYCLE_END();
 *     }
 *
 * A stage lasts until the next mark of the same thread. Its name is an identifier, not a string.
 *
 * Licence: MIT OR Apache-2.0, as the rest of punctual. C89 or later and C++, with GCC or Clang, on ELF systems: x86-64, arm64,
 * arm and riscv64. With PUNCTUAL_NO_MARKS defined, or elsewhere, the marks are nothing at all.
 */
#ifndef PUNCTUAL_MARKS_H
#define PUNCTUAL_MARKS_H

#if !defined(PUNCTUAL_NO_MARKS) && defined(__ELF__) && defined(__GNUC__) && \
	(defined(__x86_64__) || defined(__aarch64__) || defined(__arm__) || (defined(__riscv) && __riscv_xlen == 64))

#if defined(__LP64__) || defined(__ILP32__) && defined(__x86_64__)
#define PUNCTUAL_MARK_ADDRESS_ ".8byte"
#else
#define PUNCTUAL_MARK_ADDRESS_ ".4byte"
#endif

/* One probe of version 3 of SystemTap's notes: its address, the address of a section by which readers see whether the file
 * was moved, no semaphore, the names, and no arguments. */
#define PUNCTUAL_MARK_(name) \
	__asm__ __volatile__( \
		"990:\tnop\n" \
		"\t.pushsection .note.stapsdt,\"\",%note\n" \
		"\t.balign 4\n" \
		"\t.4byte 992f-991f, 994f-993f, 3\n" \
		"991:\t.asciz \"stapsdt\"\n" \
		"992:\t.balign 4\n" \
		"993:\t" PUNCTUAL_MARK_ADDRESS_ " 990b\n" \
		"\t" PUNCTUAL_MARK_ADDRESS_ " _.stapsdt.base\n" \
		"\t" PUNCTUAL_MARK_ADDRESS_ " 0\n" \
		"\t.asciz \"punctual\"\n" \
		"\t.asciz \"" name "\"\n" \
		"\t.asciz \"\"\n" \
		"994:\t.balign 4\n" \
		"\t.popsection\n" \
		"\t.ifndef _.stapsdt.base\n" \
		"\t.pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n" \
		"\t.weak _.stapsdt.base\n" \
		"\t.hidden _.stapsdt.base\n" \
		"_.stapsdt.base:\n" \
		"\t.space 1\n" \
		"\t.size _.stapsdt.base, 1\n" \
		"\t.popsection\n" \
		"\t.endif\n")

#define PUNCTUAL_CYCLE_BEGIN() PUNCTUAL_MARK_("cycle_begin")
#define PUNCTUAL_CYCLE_END() PUNCTUAL_MARK_("cycle_end")
#define PUNCTUAL_STAGE(name) PUNCTUAL_MARK_("stage_" #name)

#else

#define PUNCTUAL_CYCLE_BEGIN() ((void)0)
#define PUNCTUAL_CYCLE_END() ((void)0)
#define PUNCTUAL_STAGE(name) ((void)0)

#endif

#endif
