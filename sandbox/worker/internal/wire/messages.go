package wire

import "encoding/json"

// Protocol is the version of the frames; the agent refuses a worker that speaks another one.
const Protocol = 2

// Hello is the first frame of a worker.
type Hello struct {
	Hello Greeting `json:"hello"`
}

// Greeting tells what the kernel let the worker take away from itself.
type Greeting struct {
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
}

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

// Fill puts the defaults where nothing is set.
func (l *Limits) Fill() {
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

// Result is the header of the last frame of a request; the answer's body follows it.
type Result struct {
	ID      uint64   `json:"id"`
	OK      bool     `json:"ok"`
	Error   *Failure `json:"error,omitempty"`
	Origins []Origin `json:"origins,omitempty"`
}

// Question asks the agent about one path of the repository, or of that of another source by its ref.
type Question struct {
	ID   uint64 `json:"id"`
	Ask  string `json:"ask"`
	Path string `json:"path"`
	Ref  string `json:"ref,omitempty"`
}

// Reply is the agent's answer to a question; a file's content is the frame's body.
type Reply struct {
	Stat
	Entries []Entry  `json:"entries"`
	Error   *Failure `json:"error"`
}

// Foreseen is an answer that comes before its question.
type Foreseen struct {
	Ask   string `json:"ask"`
	Of    string `json:"of"`
	Reply Reply  `json:"reply"`
}

// Kind of an entry as the agent names it.
const (
	KindBlob      = "blob"
	KindTree      = "tree"
	KindSubmodule = "submodule"
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
