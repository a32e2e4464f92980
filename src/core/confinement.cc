// SPDX-License-Identifier: Apache-2.0
#include "core/confinement.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/types.h"

namespace octet {
namespace {

using Filter = std::vector<sock_filter>;

// Whose numbers of system calls these are.
#if defined(__x86_64__)
constexpr u32 kNumbers = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr u32 kNumbers = AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr u32 kNumbers = AUDIT_ARCH_RISCV64;
#else
#error "name this architecture's AUDIT_ARCH"
#endif

constexpr u32 kDeny = SECCOMP_RET_ERRNO | EPERM;

sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<u32>(offset));
}

// Where the value that was loaded is `value`, the next `count` run; else they are passed over.
sock_filter only_if(u32 value, size_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<u8>(count));
}

void deny_always(Filter& filter, long number) {
  filter.push_back(only_if(static_cast<u32>(number), 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kDeny));
}

// Where its first argument is one of these; what runs then ends with an answer.
void deny_for(Filter& filter, long number, std::span<const s64> first) {
  filter.push_back(only_if(static_cast<u32>(number), 2 * first.size() + 2));
  filter.push_back(load(offsetof(seccomp_data, args)));  // the lower half
  for (const s64 value : first) {
    filter.push_back(only_if(static_cast<u32>(value), 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, kDeny));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

void deny_except_own(Filter& filter, long number) {
  filter.push_back(only_if(static_cast<u32>(number), 4));
  filter.push_back(load(offsetof(seccomp_data, args)));
  filter.push_back(only_if(0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kDeny));
}

Filter make_filter(std::span<const pid_t> guarded, pid_t group) {
  constexpr long kPidfdSendSignal = 424, kPidfdGetfd = 438;
  std::vector<s64> pids(guarded.begin(), guarded.end()), targets = pids;
  targets.push_back(-1);
  targets.push_back(-s64{group});
  for (const pid_t pid : guarded) targets.push_back(-s64{pid});
  constexpr s64 kOutlives[] = {PR_SET_PDEATHSIG};
  Filter filter = {load(offsetof(seccomp_data, arch)),
                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kNumbers, 1, 0),
                   BPF_STMT(BPF_RET | BPF_K, kDeny), load(offsetof(seccomp_data, nr))};
  constexpr u32 kOtherNumbers = 0x40000000;  // of the x32 interface
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, kDeny));
  for (const long number :
       {long{SYS_ptrace}, long{SYS_process_vm_readv}, long{SYS_process_vm_writev}, long{SYS_tkill},
        kPidfdSendSignal, kPidfdGetfd})
    deny_always(filter, number);
  deny_for(filter, SYS_kill, targets);
  deny_for(filter, SYS_tgkill, pids);
  deny_for(filter, SYS_rt_sigqueueinfo, pids);
  deny_for(filter, SYS_rt_tgsigqueueinfo, pids);
  deny_for(filter, SYS_prctl, kOutlives);
  deny_except_own(filter, SYS_prlimit64);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// With these a process may reach into others of its user that do not want to be read, and raise its own limits.
void drop_capabilities() {
  constexpr u32 kDropped[] = {CAP_SYS_PTRACE, CAP_SYS_RESOURCE};
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return;
  for (const u32 capability : kDropped) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    const u32 without = ~(u32{1} << (capability % 32));
    __user_cap_data_struct& part = data[capability / 32];
    part.effective &= without;
    part.permitted &= without;
    part.inheritable &= without;
  }
  syscall(SYS_capset, &header, data);
}

}  // namespace

void confine(std::span<const pid_t> guarded, pid_t guarded_group) {
  drop_capabilities();
  Filter filter = make_filter(guarded, guarded_group);
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

}  // namespace octet
