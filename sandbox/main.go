// The sandbox evaluates what other people wrote: charts, kustomizations, templates, scripts and policies.
//
// It speaks length-prefixed frames on standard input and output (frames.go), works on one request at a
// time, and has no files and no network: every file it wants, it asks the agent for (files.go).
// The agent kills it when a deadline passes, so nothing here may keep state that matters.
package main

import (
	"bufio"
	"flag"
	"io"
	"log"
	"log/slog"
	"os"
	_ "time/tzdata" // templates may name time zones, and there is no file to read them from
)

const protocolVersion = 2

func main() {
	memory := flag.Uint64("memory-bytes", 512<<20, "memory this worker may use on top of its own size")
	flag.Parse()

	// Libraries must not write between our frames, nor log what they were given.
	wire := os.Stdout
	os.Stdout = os.Stderr
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))

	capabilities := confine(*memory)
	link := &Link{in: bufio.NewReaderSize(os.Stdin, 64<<10), out: bufio.NewWriterSize(wire, 64<<10)}
	if err := link.send(hello{Hello: greeting{protocolVersion, capabilities}}, nil); err != nil {
		os.Exit(1)
	}
	if err := serve(link); err != nil && err != io.EOF {
		os.Stderr.WriteString("sandbox: " + err.Error() + "\n")
		os.Exit(1)
	}
}

type hello struct {
	Hello greeting `json:"hello"`
}

type greeting struct {
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
}
