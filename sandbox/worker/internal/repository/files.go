// Package repository shows an operation the files of one commit, which the agent has.
package repository

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// Files is the repository as the agent shows it: questions on the wire, answers remembered for one request.
//
// Paths are relative to the repository's root, "" is the root. Symbolic links are followed by the agent,
// which refuses any that leaves the repository.
type Files struct {
	*request
	ref    string // the source whose files they are; empty for those of the request's own
	stats  map[string]wire.Stat
	listed map[string][]wire.Entry
	read   map[string][]byte
}

// request is what the files of all sources of one request share: the link, and what is taken of the limits.
type request struct {
	link    *wire.Link
	id      uint64
	limits  wire.Limits
	asked   int
	taken   int
	known   map[wire.Question]foreseen
	refs    map[string]*Files
	last    string        // the file read last: often the one a library's error is about
	refused *wire.Failure // the first refusal: it is the cause of whatever fails later
	broken  error         // the wire is gone: the process ends
}

// foreseen is an answer that came before its question.
type foreseen struct {
	reply wire.Reply
	body  []byte
}

// NewFiles makes the files of one request, about which nothing is known yet.
func NewFiles(link *wire.Link, id uint64, limits wire.Limits) *Files {
	shared := &request{link: link, id: id, limits: limits, known: map[wire.Question]foreseen{}, refs: map[string]*Files{}}
	return shared.filesOf("")
}

func (r *request) filesOf(ref string) *Files {
	return &Files{request: r, ref: ref, stats: map[string]wire.Stat{}, listed: map[string][]wire.Entry{}, read: map[string][]byte{}}
}

// Of gives the files of another source, which the request names by its ref.
func (f *Files) Of(ref string) *Files {
	if f.refs[ref] == nil {
		f.refs[ref] = f.filesOf(ref)
	}
	return f.refs[ref]
}

// Stat tells what is at the path.
func (f *Files) Stat(name string) (wire.Stat, error) {
	if known, ok := f.stats[name]; ok {
		return known, nil
	}
	answer, _, err := f.ask("stat", name)
	if err != nil {
		return wire.Stat{}, err
	}
	f.stats[name] = answer.Stat
	return answer.Stat, nil
}

// List gives the entries of a folder in the order of their names.
func (f *Files) List(name string) ([]wire.Entry, error) {
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
	f.last = f.Shown(name)
	if known, ok := f.read[name]; ok {
		return known, nil
	}
	_, content, err := f.ask("read", name)
	if err != nil {
		return nil, err
	}
	if f.taken += len(content); f.taken > f.limits.InputBytes {
		return nil, f.Refuse(&wire.Failure{Reason: wire.InputTooLarge, File: f.Shown(name),
			Message: "the files of this source have more bytes than the limit allows"})
	}
	f.read[name] = content
	return content, nil
}

// Shown is the path as a person reads it.
func (f *Files) Shown(name string) string {
	if f.ref == "" {
		return name
	}
	return "$" + f.ref + "/" + name
}

func (f *Files) ask(what, name string) (wire.Reply, []byte, error) {
	if f.broken != nil {
		return wire.Reply{}, nil, f.broken
	}
	if strings.ContainsRune(name, 0) || len(name) > 4096 {
		return wire.Reply{}, nil, wire.NewFailure(wire.FileNotFound, "not a path: %q", wire.Clip(name))
	}
	if f.asked++; f.asked > f.limits.Questions {
		return wire.Reply{}, nil, f.Refuse(wire.NewFailure(wire.InputTooLarge, "more than %d files and folders were looked at", f.limits.Questions))
	}
	var answer wire.Reply
	body, err := f.exchange(wire.Question{ID: f.id, Ask: what, Path: name, Ref: f.ref}, &answer)
	if err != nil {
		f.broken = err
		return wire.Reply{}, nil, err
	}
	if answer.Error == nil {
		return answer, body, nil
	}
	if answer.Error.Reason == wire.FileNotFound {
		return wire.Reply{}, nil, &missing{answer.Error}
	}
	return wire.Reply{}, nil, f.Refuse(answer.Error)
}

// Foresee takes one answer off the wire; it counts for the limits when it is asked for.
func (f *Files) Foresee() error {
	var known wire.Foreseen
	body, err := f.link.Receive(&known)
	f.known[wire.Question{ID: f.id, Ask: known.Ask, Path: known.Of}] = foreseen{known.Reply, body}
	return err
}

func (f *Files) exchange(asked wire.Question, answer *wire.Reply) ([]byte, error) {
	if known, ok := f.known[asked]; ok {
		*answer = known.reply
		return known.body, nil
	}
	if err := f.link.Send(asked, nil); err != nil {
		return nil, err
	}
	return f.link.Receive(answer)
}

// Refuse notes why the request cannot go on, and gives the reason back. Libraries bury it; see Refused.
func (f *Files) Refuse(why *wire.Failure) *wire.Failure {
	if f.refused == nil {
		f.refused = why
	}
	return why
}

// Refused is the first refusal of the request; nil if there was none.
func (f *Files) Refused() *wire.Failure { return f.refused }

// Broken is why the link to the agent is gone; nil while it is there.
func (f *Files) Broken() error { return f.broken }

// Last names the file that was read last: often the one that a library's error is about.
func (f *Files) Last() string { return f.last }

// missing is a file that is not there: an everyday answer, which libraries test for with fs.ErrNotExist.
type missing struct{ *wire.Failure }

func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }
func (m *missing) Unwrap() error        { return m.Failure }

// IsMissing tells whether the error says that there is no such file.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Resolve joins a path that a user wrote to the folder it was written in; a leading slash means the repository's root.
func Resolve(folder, written string) (string, error) {
	joined := path.Join(folder, written)
	if strings.HasPrefix(written, "/") {
		joined = path.Clean(strings.TrimLeft(written, "/"))
	}
	if joined == ".." || strings.HasPrefix(joined, "../") {
		return "", &wire.Failure{Reason: wire.OutsideRepository, File: written,
			Message: "the path " + written + " leads out of the repository"}
	}
	if joined == "." {
		return "", nil
	}
	return joined, nil
}

// ExistingFolder resolves the path of an application and wants a folder there.
func ExistingFolder(files *Files, written string) (string, error) {
	root, err := Resolve("", written)
	if err != nil {
		return "", err
	}
	stat, err := files.Stat(root)
	if err != nil {
		return "", err
	}
	if stat.Kind != wire.KindTree {
		return "", &wire.Failure{Reason: wire.PathNotFound, File: root, Message: "the repository has no folder " + written}
	}
	return root, nil
}

// MaxNesting of folders: a symbolic link to a parent folder would otherwise never end.
const MaxNesting = 100
