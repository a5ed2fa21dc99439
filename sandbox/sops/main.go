// gitops-sops opens what SOPS has encrypted, with keys that the agent hands to it, and ends.
//
// The agent starts it for each call, with limits of time and memory: what strangers wrote is parsed beside the keys in
// a process that opens no file, reads no environment and calls no network. The request is one JSON object on standard
// input, the answer one on standard output. Only keys of age and PGP that are in the request open a file.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
)

const requestBytes = 96 << 20

func main() {
	logrus.SetOutput(io.Discard)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops-sops:", err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	var request Request
	decoder := json.NewDecoder(io.LimitReader(input, requestBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return fmt.Errorf("the request cannot be read")
	}
	return json.NewEncoder(output).Encode(answer(request))
}

func answer(request Request) Answer {
	keys, problem := readKeys(request.Age, request.PGP)
	if problem != nil {
		return Answer{Problem: problem}
	}
	switch request.Call {
	case "verify":
		return verify(request, keys)
	case "open":
		return open(request, keys)
	}
	return Answer{Problem: &Problem{Code: "request", Object: none, Message: "there is no such call"}}
}
