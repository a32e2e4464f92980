// SPDX-License-Identifier: Apache-2.0
// Hides instruction sets from a program that asks the processor for them: a library for LD_PRELOAD, used by bench/levels.py.
// The processor is told to fault on CPUID (arch_prctl ARCH_CPUID; "cpuid_fault" in /proc/cpuinfo); the handler asks it
// once more and clears the bits above the level named in CPUID_MASK: avx2, avx_vnni or vnni.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kArchCpuid = 0x1012 };
enum { kAvx2 = 1, kAvxVnni = 2, kVnni = 3 };
enum { kEax, kEbx, kEcx, kEdx };

// Bits of leaf 7: [subleaf][register]. AMX is cleared at every level, AVX-512 below vnni, 256-bit VNNI below avx_vnni.
static const unsigned kAmx[2][4] = {
    {0, 0, 0, 1u << 22 | 1u << 24 | 1u << 25},  // bf16, tile, int8
    {1u << 21, 0, 0, 1u << 8},                  // fp16, complex
};
static const unsigned kAvx512[2][4] = {
    {0,
     // f, dq, ifma, pf, er, cd, bw, vl
     1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31,
     1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14,  // vbmi, vbmi2, vnni, bitalg, vpopcntdq
     1u << 2 | 1u << 3 | 1u << 8 | 1u << 23},             // 4vnniw, 4fmaps, vp2intersect, fp16
    {1u << 5, 0, 0, 1u << 19},                            // bf16, avx10
};
// vnni, ifma; vnni_int8, ne_convert, vnni_int16
static const unsigned kAvxVnniBits[4] = {1u << 4 | 1u << 23, 0, 0, 1u << 4 | 1u << 5 | 1u << 10};

static int level;

static void set_faulting(int on) { syscall(SYS_arch_prctl, kArchCpuid, on ? 0L : 1L); }

static void hide(unsigned leaf, unsigned subleaf, unsigned words[4]) {
  if (leaf == 0x1d || leaf == 0x1e || leaf == 0x24) memset(words, 0, 16);  // tiles, AVX10
  if (leaf != 7 || subleaf > 1) return;
  for (int i = 0; i < 4; ++i) {
    words[i] &= ~kAmx[subleaf][i];
    if (level < kVnni) words[i] &= ~kAvx512[subleaf][i];
    if (level < kAvxVnni && subleaf == 1) words[i] &= ~kAvxVnniBits[i];
  }
}

static void on_fault(int signal_number, siginfo_t* info, void* context) {
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)registers[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) {
    signal(signal_number, SIG_DFL);  // a real fault: it happens again, and ends the program
    return;
  }
  const unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX];
  unsigned words[4];
  set_faulting(0);
  __cpuid_count(leaf, subleaf, words[kEax], words[kEbx], words[kEcx], words[kEdx]);
  set_faulting(1);
  hide(leaf, subleaf, words);
  registers[REG_RAX] = words[kEax];
  registers[REG_RBX] = words[kEbx];
  registers[REG_RCX] = words[kEcx];
  registers[REG_RDX] = words[kEdx];
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  static const char* const kNames[] = {"", "avx2", "avx_vnni", "vnni"};
  const char* name = getenv("CPUID_MASK");
  for (int i = kAvx2; i <= kVnni; ++i) {
    if (name != NULL && strcmp(name, kNames[i]) == 0) level = i;
  }
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  if (level == 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
      syscall(SYS_arch_prctl, kArchCpuid, 0L) != 0) {
    fputs("cpuid_mask: CPUID_MASK is not avx2, avx_vnni or vnni, or CPUID cannot fault here\n",
          stderr);
    _exit(1);
  }
}
