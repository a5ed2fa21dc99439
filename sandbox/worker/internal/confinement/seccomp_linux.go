package confinement

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rule allows one system call, as far as its arguments are the ones that the Go runtime gives it.
type rule struct {
	call  uint32
	tests []argument
}

// argument is a test of the lower half of an argument: its bits under mask must be exactly wanted.
type argument struct {
	index        uint32
	mask, wanted uint32
}

func allow(calls ...uint32) []rule {
	rules := make([]rule, len(calls))
	for index, call := range calls {
		rules[index] = rule{call: call}
	}
	return rules
}

func only(call uint32, tests ...argument) rule { return rule{call, tests} }

// allowed lists every system call that an evaluation may make: what the Go runtime needs for memory, threads,
// timers and the preemption of its own threads, and reading and writing of what is open. All else fails with
// EPERM. What a worker really calls is seen with strace -f.
func allowed(own uint32) []rule {
	everything := uint32(0xffffffff)
	rules := allow(
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE,
		unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_RESTART_SYSCALL, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM,
		unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MINCORE,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_BRK, // what the C library needs, where the program was linked with it
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	)
	return append(rules,
		only(unix.SYS_MMAP, argument{2, unix.PROT_EXEC, 0}),
		only(unix.SYS_MPROTECT, argument{2, unix.PROT_EXEC, 0}),
		only(unix.SYS_CLONE, argument{0, unix.CLONE_THREAD | unix.CLONE_VM, unix.CLONE_THREAD | unix.CLONE_VM}),
		only(unix.SYS_TGKILL, argument{0, everything, own}),
		only(unix.SYS_FCNTL, argument{1, everything, unix.F_GETFL}),
	)
}

const (
	offsetNumber    = 0 // struct seccomp_data
	offsetArch      = 4
	offsetArguments = 16 // eight bytes each, the lower half first on the machines that are supported
)

// allowSyscalls loads the filter for every thread of the process.
func allowSyscalls() error {
	program := filter(uint32(unix.Getpid()))
	load := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&load)))
	if errno != 0 {
		return errno
	}
	return nil
}

// filter refuses what is not allowed. Calls of another architecture are refused first: their numbers mean
// something else. Calls of the x32 kind have numbers of their own, which no rule allows.
func filter(own uint32) []unix.SockFilter {
	refuse := statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	program := []unix.SockFilter{
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		refuse,
	}
	// The C library tries clone3, whose arguments no filter can read, and takes clone where there is none.
	program = append(program,
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetNumber),
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
	)
	for _, rule := range allowed(own) {
		program = append(program, rule.program(refuse)...)
	}
	return append(program, refuse)
}

// program answers for one call and falls through for every other one.
func (r rule) program(refuse unix.SockFilter) []unix.SockFilter {
	var body []unix.SockFilter
	for _, test := range r.tests {
		body = append(body,
			statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetArguments+8*test.index),
			statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, test.mask),
			jump(unix.BPF_JEQ, test.wanted, 1, 0),
			refuse,
		)
	}
	body = append(body, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	return append([]unix.SockFilter{
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetNumber),
		jump(unix.BPF_JEQ, r.call, 0, uint8(len(body))),
	}, body...)
}

func statement(code uint16, value uint32) unix.SockFilter {
	return unix.SockFilter{Code: code, K: value}
}

func jump(test uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: value}
}
