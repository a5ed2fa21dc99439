package main

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Files is the repository as the agent shows it: questions on the wire, answers remembered for one request.
//
// Paths are relative to the repository's root, "" is the root. Symbolic links are followed by the agent,
// which refuses any that leaves the repository.
type Files struct {
	link    *Link
	id      uint64
	limits  Limits
	asked   int
	taken   int
	known   map[question]foreseen
	stats   map[string]Stat
	listed  map[string][]Entry
	read    map[string][]byte
	last    string   // the file read last: often the one a library's error is about
	refused *Failure // the first refusal: it is the cause of whatever fails later
	broken  error    // the wire is gone: the process ends
}

// Kind of an entry as the agent names it.
const (
	kindBlob      = "blob"
	kindTree      = "tree"
	kindSubmodule = "submodule"
)

// Stat is what a path leads to; Kind is empty where there is nothing. Path is the place after following links.
type Stat struct {
	Kind string `json:"kind"`
	Size int    `json:"size"`
	Path string `json:"path"`
}

// Entry is one name in a folder.
type Entry struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type question struct {
	ID   uint64 `json:"id"`
	Ask  string `json:"ask"`
	Path string `json:"path"`
}

type reply struct {
	Stat
	Entries []Entry  `json:"entries"`
	Error   *Failure `json:"error"`
}

// foreseen is an answer that came before its question.
type foreseen struct {
	Ask   string `json:"ask"`
	Of    string `json:"of"`
	Reply reply  `json:"reply"`
	body  []byte
}

func newFiles(link *Link, id uint64, limits Limits) *Files {
	return &Files{
		link: link, id: id, limits: limits,
		known: map[question]foreseen{}, stats: map[string]Stat{}, listed: map[string][]Entry{}, read: map[string][]byte{},
	}
}

// Stat tells what is at the path.
func (f *Files) Stat(name string) (Stat, error) {
	if known, ok := f.stats[name]; ok {
		return known, nil
	}
	answer, _, err := f.ask("stat", name)
	if err != nil {
		return Stat{}, err
	}
	f.stats[name] = answer.Stat
	return answer.Stat, nil
}

// List gives the entries of a folder in the order of their names.
func (f *Files) List(name string) ([]Entry, error) {
	if known, ok := f.listed[name]; ok {
		return known, nil
	}
	answer, _, err := f.ask("list", name)
	if err != nil {
		return nil, err
	}
	f.listed[name] = answer.Entries
	return answer.Entries, nil
}

// Read gives the content of a file.
func (f *Files) Read(name string) ([]byte, error) {
	f.last = name
	if known, ok := f.read[name]; ok {
		return known, nil
	}
	_, content, err := f.ask("read", name)
	if err != nil {
		return nil, err
	}
	if f.taken += len(content); f.taken > f.limits.InputBytes {
		return nil, f.refuse(&Failure{Reason: InputTooLarge, File: name,
			Message: "the files of this source have more bytes than the limit allows"})
	}
	f.read[name] = content
	return content, nil
}

func (f *Files) ask(what, name string) (reply, []byte, error) {
	if f.broken != nil {
		return reply{}, nil, f.broken
	}
	if strings.ContainsRune(name, 0) || len(name) > 4096 {
		return reply{}, nil, failure(FileNotFound, "not a path: %q", clip(name))
	}
	if f.asked++; f.asked > f.limits.Questions {
		return reply{}, nil, f.refuse(failure(InputTooLarge, "more than %d files and folders were looked at", f.limits.Questions))
	}
	var answer reply
	body, err := f.exchange(question{f.id, what, name}, &answer)
	if err != nil {
		f.broken = err
		return reply{}, nil, err
	}
	if answer.Error == nil {
		return answer, body, nil
	}
	if answer.Error.Reason == FileNotFound {
		return reply{}, nil, &missing{answer.Error}
	}
	return reply{}, nil, f.refuse(answer.Error)
}

// foresee takes one answer off the wire; it counts for the limits when it is asked for.
func (f *Files) foresee() error {
	var said foreseen
	body, err := f.link.receive(&said)
	said.body = body
	f.known[question{f.id, said.Ask, said.Of}] = said
	return err
}

func (f *Files) exchange(asked question, answer *reply) ([]byte, error) {
	if said, ok := f.known[asked]; ok {
		*answer = said.Reply
		return said.body, nil
	}
	if err := f.link.send(asked, nil); err != nil {
		return nil, err
	}
	return f.link.receive(answer)
}

func (f *Files) refuse(why *Failure) *Failure {
	if f.refused == nil {
		f.refused = why
	}
	return why
}

// missing is a file that is not there: an everyday answer, which libraries test for with fs.ErrNotExist.
type missing struct{ *Failure }

func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }
func (m *missing) Unwrap() error        { return m.Failure }

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// resolve joins a path that a user wrote to the folder it was written in; a leading slash means the repository's root.
func resolve(folder, written string) (string, error) {
	joined := path.Join(folder, written)
	if strings.HasPrefix(written, "/") {
		joined = path.Clean(strings.TrimLeft(written, "/"))
	}
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return "", &Failure{Reason: OutsideRepository, File: written,
			Message: "the path " + written + " leads out of the repository"}
	}
	if joined == "." {
		return "", nil
	}
	return joined, nil
}
