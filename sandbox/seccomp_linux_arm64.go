package main

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are the doors that only this architecture calls by these names.
var deniedHere = []uint32{unix.SYS_FSTATAT, unix.SYS_RENAMEAT, unix.SYS_ACCEPT, unix.SYS_SETRLIMIT}
