package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the doors to files, network, other processes and wider rights. A call to one fails with EACCES.
// It is a list of the denied, not of the allowed: the Go runtime decides what it needs, and the frames
// on standard input and output are already open.
var denied = append([]uint32{
	unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT4,
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_STATX, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_CHDIR, unix.SYS_CHROOT, unix.SYS_MOUNT, unix.SYS_MEMFD_CREATE,
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_KILL, unix.SYS_PTRACE,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_BPF, unix.SYS_IO_URING_SETUP,
	unix.SYS_PRLIMIT64,
}, deniedHere...)

const (
	offsetNumber = 0 // struct seccomp_data
	offsetArch   = 4
	x32Bit       = 0x40000000
)

// denySyscalls loads the filter for every thread of the process.
func denySyscalls() error {
	program := filter()
	load := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&load)))
	if errno != 0 {
		return errno
	}
	return nil
}

func filter() []unix.SockFilter {
	refuse := statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES))
	program := []unix.SockFilter{
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		refuse,
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetNumber),
		jump(unix.BPF_JGE, x32Bit, 0, 1),
		refuse,
	}
	for _, number := range denied {
		program = append(program, jump(unix.BPF_JEQ, number, 0, 1), refuse)
	}
	return append(program, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
}

func statement(code uint16, value uint32) unix.SockFilter {
	return unix.SockFilter{Code: code, K: value}
}

func jump(test uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: value}
}
