// Functions that are compiled for instructions that not every CPU has, and chosen at run time.
//
// A function with JCMSPL_TARGET may use the instructions; the rest of the library must not. Therefore these functions
// call only JCMSPL_INLINE functions of the same file: the linker could share the compiled code of other templates.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define JCMSPL_TARGET(name) __attribute__((target(name)))
#define JCMSPL_HAS(name) __builtin_cpu_supports(name)
#define JCMSPL_INLINE __attribute__((always_inline)) inline
#else
#define JCMSPL_TARGET(name)
#define JCMSPL_HAS(name) false
#define JCMSPL_INLINE inline
#endif
