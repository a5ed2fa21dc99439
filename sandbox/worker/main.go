// The sandbox evaluates what other people wrote: charts, kustomizations, templates, scripts and policies.
//
// It speaks length-prefixed frames on standard input and output (internal/wire), works on one request at a
// time (internal/server), and has no files and no network: every file it wants, it asks the agent for
// (internal/repository). The agent kills it when a deadline passes, so nothing here may keep state that matters.
package main

import (
	"flag"
	"io"
	"log"
	"log/slog"
	"os"

	_ "time/tzdata" // templates may name time zones, and there is no file to read them from

	"plumbline.dev/sandbox/worker/internal/confinement"
	"plumbline.dev/sandbox/worker/internal/server"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func main() {
	memory := flag.Uint64("memory-bytes", 512<<20, "memory this worker may use on top of its own size")
	flag.Parse()

	// Libraries must not write between our frames, nor log what they were given.
	out := os.Stdout
	os.Stdout = os.Stderr
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))

	capabilities := confinement.Confine(*memory)
	link := wire.NewLink(os.Stdin, out)
	if err := link.Send(wire.Hello{Hello: wire.Greeting{Protocol: wire.Protocol, Capabilities: capabilities}}, nil); err != nil {
		os.Exit(1)
	}
	if err := server.Serve(link); err != nil && err != io.EOF {
		os.Stderr.WriteString("sandbox: " + err.Error() + "\n")
		os.Exit(1)
	}
}
