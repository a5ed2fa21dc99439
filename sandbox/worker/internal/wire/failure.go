package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Failure is the only error that leaves this program: a reason for machines, a message for people,
// and the place in the user's files where it went wrong, as far as it is known.
type Failure struct {
	Reason   Reason `json:"reason"`
	Message  string `json:"message"`
	File     string `json:"file,omitempty"`
	Document int    `json:"document,omitempty"`
	Line     int    `json:"line,omitempty"`

	Dependencies []Dependency `json:"dependencies,omitempty"` // charts to be fetched first
	Bases        []Base       `json:"bases,omitempty"`        // remote bases to be fetched first
}

// Base is a Git repository at a ref, of which a kustomization uses a folder.
type Base struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref,omitempty"`
}

// Dependency is a chart that another one depends on, as its Chart.yaml or its lock names it.
type Dependency struct {
	Name       string `json:"name"`
	Repository string `json:"repository"`
	Version    string `json:"version"`
	Locked     bool   `json:"locked,omitempty"` // whether the version is that of a lock file
}

const maxMessage = 4096

func (f *Failure) Error() string { return f.Message }

// NewFailure makes a failure without a place, from a format and its arguments.
func NewFailure(reason Reason, format string, args ...any) *Failure {
	return &Failure{Reason: reason, Message: Clip(fmt.Sprintf(format, args...))}
}

// Clip cuts a message that is too long for people.
func Clip(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage], "") + " ..."
	}
	return message
}

// AsFailure keeps a Failure as it is, however deeply a library wrapped it, and gives anything else the reason.
func AsFailure(err error, reason Reason) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	return NewFailure(reason, "%s", strings.TrimSpace(err.Error()))
}

var lineInMessage = regexp.MustCompile(`\bline (\d+)`)

// LineOf finds "line 7" in a parser's message, 0 if there is none.
func LineOf(message string) int {
	found := lineInMessage.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1])
	return line
}

// WithLine puts another number into "line 7" of a parser's message.
func WithLine(message string, line int) string {
	return lineInMessage.ReplaceAllString(message, "line "+strconv.Itoa(line))
}

var userInfo = regexp.MustCompile(`//[^/@]*@`)

// WithoutPassword keeps credentials that people put into URLs out of messages.
func WithoutPassword(url string) string { return userInfo.ReplaceAllString(url, "//") }
