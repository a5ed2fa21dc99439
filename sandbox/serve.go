package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Request is one piece of work. Its body is the operation's raw input, its params are the operation's own.
type Request struct {
	ID         uint64          `json:"id"`
	Op         string          `json:"op"`
	DeadlineMs int64           `json:"deadline_ms"`
	Limits     Limits          `json:"limits"`
	Params     json.RawMessage `json:"params"`
	Foreseen   int             `json:"foreseen"` // answers that follow it, to questions that will be asked
}

// Limits of one request; zero means the default.
type Limits struct {
	OutputBytes int `json:"output_bytes"`
	InputBytes  int `json:"input_bytes"`
	Questions   int `json:"questions"`
}

// Origin names the source of one object of an answer.
type Origin struct {
	File     string `json:"file"`
	Document int    `json:"document"`
}

// Answer is a body and, for operations that give objects, the origin of each of its lines.
type Answer struct {
	Body    []byte
	Origins []Origin
}

type answerHeader struct {
	ID      uint64   `json:"id"`
	OK      bool     `json:"ok"`
	Error   *Failure `json:"error,omitempty"`
	Origins []Origin `json:"origins,omitempty"`
}

// Call is what an operation works with.
type Call struct {
	Context context.Context
	Params  json.RawMessage
	Body    []byte
	Files   *Files
	Limits  Limits
}

// params decodes the operation's parameters; an unknown one is refused, so that nothing is silently ignored.
func (c *Call) params(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(c.Params))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return failure(RequestInvalid, "parameters: %s", err)
	}
	return nil
}

func serve(link *Link) error {
	for {
		var request Request
		body, err := link.receive(&request)
		if err != nil {
			return err
		}
		if err := respond(link, request, body); err != nil {
			return err
		}
	}
}

func respond(link *Link, request Request, body []byte) error {
	request.Limits.fill()
	files := newFiles(link, request.ID, request.Limits)
	for range request.Foreseen {
		if err := files.foresee(); err != nil {
			return err
		}
	}
	answer, err := evaluate(request, body, files)
	if files.broken != nil {
		return files.broken
	}
	if err == nil && len(answer.Body) > request.Limits.OutputBytes {
		err = failure(OutputTooLarge, "the result has %d bytes, the limit is %d", len(answer.Body), request.Limits.OutputBytes)
	}
	if err != nil {
		return link.send(answerHeader{ID: request.ID, Error: asFailure(err, WorkerFailed)}, nil)
	}
	return link.send(answerHeader{ID: request.ID, OK: true, Origins: answer.Origins}, answer.Body)
}

func evaluate(request Request, body []byte, files *Files) (answer Answer, err error) {
	operation, known := operations[request.Op]
	if !known {
		return Answer{}, failure(RequestInvalid, "there is no operation %q", request.Op)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(request.DeadlineMs)*time.Millisecond)
	defer cancel()
	// The agent kills a worker that overruns. Should the agent be gone, the worker ends itself.
	defer time.AfterFunc(2*time.Duration(request.DeadlineMs)*time.Millisecond+time.Second, func() { os.Exit(3) }).Stop()
	defer func() {
		if trouble := recover(); trouble != nil {
			answer, err = Answer{}, failure(WorkerFailed, "%s: %s", request.Op, fmt.Sprint(trouble))
		}
	}()
	answer, err = operation(&Call{Context: ctx, Params: request.Params, Body: body, Files: files, Limits: request.Limits})
	if files.refused != nil {
		// Libraries bury why a file could not be had, or go on without it; the first refusal is the cause.
		err = files.refused
	}
	if err != nil && ctx.Err() != nil {
		err = failure(DeadlineExceeded, "%s took longer than %d ms", request.Op, request.DeadlineMs)
	}
	return answer, err
}

func (l *Limits) fill() {
	if l.OutputBytes <= 0 {
		l.OutputBytes = 64 << 20
	}
	if l.InputBytes <= 0 {
		l.InputBytes = 64 << 20
	}
	if l.Questions <= 0 {
		l.Questions = 20000
	}
}
