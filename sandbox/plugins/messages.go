package main

// Request is what the agent asks.
type Request struct {
	// Call is one of check, match, generate and announce.
	Call   string `json:"call"`
	Socket string `json:"socket"`
	// Name is the last part of the application's folder, which is how repo-server names an application here.
	Name string `json:"name"`
	// Path is the application's folder in the archive.
	Path string     `json:"path"`
	Env  []EnvEntry `json:"env"`
	// Archive is the number of an open file, 0 for a call without one.
	Archive  uintptr `json:"archive"`
	Checksum string  `json:"checksum"`
	Size     int64   `json:"size"`
	// Seconds is the deadline of the call; the plugin hears of it and ends its commands before.
	Seconds float64 `json:"seconds"`
	// AnswerBytes is the largest answer that is read.
	AnswerBytes int `json:"answerBytes"`
}

// EnvEntry is one variable of the commands of a plugin.
type EnvEntry struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Answer is what the plugin answered, or the error of the call.
type Answer struct {
	Discovers  bool           `json:"discovers,omitempty"`
	GitLogin   bool           `json:"gitLogin,omitempty"`
	Supported  bool           `json:"supported,omitempty"`
	Parameters []Announcement `json:"parameters,omitempty"`
	Error      *CallError     `json:"error,omitempty"`
}

// Announcement tells of one parameter that a plugin takes.
type Announcement struct {
	Name           string            `json:"name"`
	Title          string            `json:"title,omitempty"`
	Tooltip        string            `json:"tooltip,omitempty"`
	Required       bool              `json:"required,omitempty"`
	ItemType       string            `json:"itemType,omitempty"`
	CollectionType string            `json:"collectionType,omitempty"`
	String         string            `json:"string,omitempty"`
	Array          []string          `json:"array,omitempty"`
	Map            map[string]string `json:"map,omitempty"`
}

// CallError has the name of gRPC's code and what the plugin wrote.
type CallError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
