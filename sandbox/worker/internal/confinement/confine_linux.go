package confinement

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Confine takes away the rights that an evaluation never needs, and returns which of them this kernel could take.
//
// The memory limit is an address-space limit above the size of the idle process, because the Go runtime
// reserves more than a gigabyte that it does not use. The collector aims below it, so that only a real
// excess meets the hard limit, where the runtime dies; the agent then reads the cause in what it wrote to standard error.
func Confine(memory uint64) []string {
	runtime.LockOSThread() // the filter wants a thread that has given up new privileges
	defer runtime.UnlockOSThread()
	debug.SetMemoryLimit(int64(memory / 4 * 3))
	debug.SetMaxStack(64 << 20)
	var done []string
	note := func(capability string, err error) {
		if err == nil {
			done = append(done, capability)
		}
	}
	note("rlimit_as", limitMemory(memory))
	note("no_core", limit(unix.RLIMIT_CORE, 0))
	note("no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	note("seccomp", allowSyscalls())
	return done
}

func limitMemory(memory uint64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	pages, err := strconv.ParseUint(strings.Fields(string(statm))[0], 10, 64)
	if err != nil {
		return err
	}
	return limit(unix.RLIMIT_AS, pages*uint64(os.Getpagesize())+memory)
}

func limit(resource int, value uint64) error {
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}
