// gitops-plugins asks one question of a config management plugin, over the socket of its sidecar, and ends.
//
// The agent starts it for each call, so that a plugin that crashes, hangs or answers without an end costs this
// process and nothing else. The request is one JSON object on standard input; it names the open file that is the
// archive of the repository. The answer is one line of JSON on standard output, followed by the manifests where there are any.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

const requestBytes = 64 << 20

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops-plugins:", err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	var request Request
	decoder := json.NewDecoder(io.LimitReader(input, requestBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(request.Seconds*float64(time.Second)))
	defer cancel()
	answer, manifests := ask(ctx, request, archive(request))
	return write(output, answer, manifests)
}

// archive is open already: the agent's file has no name.
func archive(request Request) io.Reader {
	if request.Archive == 0 {
		return bytes.NewReader(nil)
	}
	return os.NewFile(request.Archive, "archive")
}

// write separates the manifests by three dashes: a plugin answers with one text for each document.
func write(output io.Writer, answer Answer, manifests []string) error {
	writer := bufio.NewWriter(output)
	if err := json.NewEncoder(writer).Encode(answer); err != nil {
		return err
	}
	for place, manifest := range manifests {
		if place > 0 {
			if _, err := writer.WriteString("\n---\n"); err != nil {
				return err
			}
		}
		if _, err := writer.WriteString(manifest); err != nil {
			return err
		}
	}
	return writer.Flush()
}
