// Package operationtest runs one operation on files that are written in a test, as the agent would show them.
package operationtest

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Operation is one entry of the worker's table.
type Operation func(*operation.Call) (wire.Answer, error)

// Files of a repository, by their paths.
type Files map[string]string

// Run gives the operation's body, or why it failed; a refusal of a file is the cause, as it is for the agent.
func Run(t *testing.T, run Operation, params any, body string, files Files) (string, *wire.Failure) {
	t.Helper()
	encoded, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	questions, asked := io.Pipe()
	replies, written := io.Pipe()
	go answer(wire.NewLink(questions, written), files)
	t.Cleanup(func() { asked.Close() })
	limits := wire.Limits{}
	limits.Fill()
	shown := repository.NewFiles(wire.NewLink(replies, asked), 1, limits)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	result, err := run(&operation.Call{Context: ctx, Params: encoded, Body: []byte(body), Files: shown, Limits: limits})
	if refused := shown.Refused(); refused != nil {
		return "", refused
	}
	if err != nil {
		return "", wire.AsFailure(err, wire.WorkerFailed)
	}
	return string(result.Body), nil
}

// answer is the agent's part: it ends when the operation's end of the link is closed.
func answer(link *wire.Link, files Files) {
	for {
		var question wire.Question
		if _, err := link.Receive(&question); err != nil {
			return
		}
		reply, content := files.reply(question)
		if err := link.Send(reply, []byte(content)); err != nil {
			return
		}
	}
}

func (f Files) reply(question wire.Question) (map[string]any, string) {
	if question.Ref != "" {
		return f.of(question.Ref).reply(wire.Question{Ask: question.Ask, Path: question.Path})
	}
	content, isFile := f[question.Path]
	entries := f.entries(question.Path)
	switch {
	case question.Ask == "stat" && isFile:
		return map[string]any{"kind": wire.KindBlob, "path": question.Path, "size": len(content)}, ""
	case question.Ask == "stat" && len(entries) > 0:
		return map[string]any{"kind": wire.KindTree, "path": question.Path}, ""
	case question.Ask == "stat":
		return map[string]any{"path": question.Path}, ""
	case question.Ask == "list" && len(entries) > 0:
		return map[string]any{"entries": entries}, ""
	case question.Ask == "read" && isFile:
		return map[string]any{"kind": wire.KindBlob, "path": question.Path}, content
	}
	missing := wire.NewFailure(wire.FileNotFound, "%s does not exist in the repository", question.Path)
	return map[string]any{"error": missing}, ""
}

// of gives the files of another source: those that are written as $ref/path.
func (f Files) of(ref string) Files {
	found := Files{}
	for name, content := range f {
		if inner, ok := strings.CutPrefix(name, "$"+ref+"/"); ok {
			found[inner] = content
		}
	}
	return found
}

func (f Files) entries(folder string) []wire.Entry {
	seen := map[string]string{}
	for name := range f {
		inner := name
		if folder != "" {
			var below bool
			if inner, below = strings.CutPrefix(name, folder+"/"); !below {
				continue
			}
		}
		first, _, deeper := strings.Cut(inner, "/")
		seen[path.Clean(first)] = wire.KindBlob
		if deeper {
			seen[path.Clean(first)] = wire.KindTree
		}
	}
	entries := make([]wire.Entry, 0, len(seen))
	for name, kind := range seen {
		entries = append(entries, wire.Entry{Name: name, Kind: kind})
	}
	slices.SortFunc(entries, func(a, b wire.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}
