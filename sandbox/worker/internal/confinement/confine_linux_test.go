package confinement

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestConfinedProcess is run by the next test in a process of its own, because a filter cannot be removed.
func TestConfinedProcess(t *testing.T) {
	if os.Getenv("SANDBOX_CONFINED") == "" {
		return
	}
	if can := Confine(1 << 30); !slices.Contains(can, "seccomp") {
		t.Fatalf("no seccomp here, only %v", can)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno != syscall.ENOSYS {
		t.Errorf("clone3: %v", errno)
	}
	for name, err := range refusedHere() {
		if !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s: %v", name, err)
		}
	}
	done := make(chan bool)
	for range 20 { // threads, timers and memory are still to be had, and a busy one is interrupted
		go func() {
			runtime.LockOSThread() // which ends with it
			made := make([]byte, 1<<16)
			for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
				made[0]++
			}
			done <- true
		}()
	}
	for range 20 {
		<-done
	}
	runtime.GC()
}

func refusedHere() map[string]error {
	_, opening := os.ReadFile("/etc/hostname")
	_, dialling := net.Dial("tcp", "127.0.0.1:9")
	_, memory := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	_, flags := unix.FcntlInt(0, unix.F_SETOWN, 1)
	_, pair := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	_, events := unix.PerfEventOpen(&unix.PerfEventAttr{}, 0, -1, -1, 0)
	_, keys := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	_, _, fork := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return map[string]error{
		"open": opening, "dial": dialling, "run": exec.Command("/bin/true").Run(),
		"truncate": unix.Truncate("/tmp/x", 0), "fchmodat": unix.Fchmodat(unix.AT_FDCWD, "/tmp", 0o777, 0),
		"mknodat": unix.Mknodat(unix.AT_FDCWD, "/tmp/x", 0, 0), "keyctl": keys, "perf_event_open": events,
		"socketpair": pair, "tgkill of another process": unix.Tgkill(1, 1, 0), "kill": unix.Kill(1, 0),
		"memory to run": memory, "an owner of signals": flags, "fork": fork,
		"ioctl": unix.IoctlSetInt(0, unix.TIOCSTI, 0), "prctl": unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0),
	}
}

func TestAConfinedWorkerMayDoNothingButCompute(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestConfinedProcess$")
	child.Env = []string{"SANDBOX_CONFINED=1"}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
