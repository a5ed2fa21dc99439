// Package server works on one request after another: it reads a request, runs its operation and sends the result.
package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Serve works until the link ends, which it tells as io.EOF.
func Serve(link *wire.Link) error {
	for {
		var request wire.Request
		body, err := link.Receive(&request)
		if err != nil {
			return err
		}
		if err := respond(link, request, body); err != nil {
			return err
		}
	}
}

func respond(link *wire.Link, request wire.Request, body []byte) error {
	request.Limits.Fill()
	files := repository.NewFiles(link, request.ID, request.Limits)
	for range request.Foreseen {
		if err := files.Foresee(); err != nil {
			return err
		}
	}
	answer, err := evaluate(request, body, files)
	if broken := files.Broken(); broken != nil {
		return broken
	}
	if err == nil && len(answer.Body) > request.Limits.OutputBytes {
		err = wire.NewFailure(wire.OutputTooLarge, "the result has %d bytes, the limit is %d", len(answer.Body), request.Limits.OutputBytes)
	}
	if err != nil {
		return link.Send(wire.Result{ID: request.ID, Error: wire.AsFailure(err, wire.WorkerFailed)}, nil)
	}
	return link.Send(wire.Result{ID: request.ID, OK: true, Origins: answer.Origins}, answer.Body)
}

func evaluate(request wire.Request, body []byte, files *repository.Files) (answer wire.Answer, err error) {
	run, known := operations[request.Op]
	if !known {
		return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "there is no operation %q", request.Op)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(request.DeadlineMs)*time.Millisecond)
	defer cancel()
	// The agent kills a worker that overruns. Should the agent be gone, the worker ends itself.
	defer time.AfterFunc(2*time.Duration(request.DeadlineMs)*time.Millisecond+time.Second, func() { os.Exit(3) }).Stop()
	defer func() {
		if trouble := recover(); trouble != nil {
			answer, err = wire.Answer{}, wire.NewFailure(wire.WorkerFailed, "%s: %s", request.Op, fmt.Sprint(trouble))
		}
	}()
	answer, err = run(&operation.Call{Context: ctx, Params: request.Params, Body: body, Files: files, Limits: request.Limits})
	if refused := files.Refused(); refused != nil {
		// Libraries bury why a file could not be had, or go on without it; the first refusal is the cause.
		err = refused
	}
	if err != nil && ctx.Err() != nil {
		err = wire.NewFailure(wire.DeadlineExceeded, "%s took longer than %d ms", request.Op, request.DeadlineMs)
	}
	return answer, err
}
