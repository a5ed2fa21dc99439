package main

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
}

const maxMessage = 4096

func (f *Failure) Error() string { return f.Message }

func failure(reason Reason, format string, args ...any) *Failure {
	return &Failure{Reason: reason, Message: clip(fmt.Sprintf(format, args...))}
}

func clip(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage], "") + " ..."
	}
	return message
}

// asFailure keeps a Failure as it is, however deeply a library wrapped it, and gives anything else the reason.
func asFailure(err error, reason Reason) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	return failure(reason, "%s", strings.TrimSpace(err.Error()))
}

var lineInMessage = regexp.MustCompile(`\bline (\d+)`)

// lineOf finds "line 7" in a parser's message, 0 if there is none.
func lineOf(message string) int {
	found := lineInMessage.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1])
	return line
}

func itoa(n int) string { return strconv.Itoa(n) }
