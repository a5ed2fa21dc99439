//go:build !linux

package confinement

import "runtime/debug"

// Confine has only the collector's soft limit here; the agent reports what is missing.
func Confine(memory uint64) []string {
	debug.SetMemoryLimit(int64(memory / 4 * 3))
	debug.SetMaxStack(64 << 20)
	return nil
}
