package main

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestConfinedProcess is what the next test runs in a process of its own: a filter cannot be taken off again.
func TestConfinedProcess(t *testing.T) {
	if os.Getenv("SANDBOX_CONFINED") == "" {
		return
	}
	can := confine(1 << 30)
	if !slices.Contains(can, "seccomp") {
		os.Stdout.WriteString("no seccomp here\n")
		return
	}
	_, opening := os.ReadFile("/etc/hostname")
	_, dialling := net.Dial("tcp", "127.0.0.1:9")
	running := exec.Command("/bin/true").Run()
	for name, err := range map[string]error{"open": opening, "dial": dialling, "run": running} {
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAConfinedWorkerCannotOpenDialOrRun(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestConfinedProcess$")
	child.Env = []string{"SANDBOX_CONFINED=1"}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
