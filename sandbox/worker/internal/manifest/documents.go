package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"

	"sigs.k8s.io/yaml"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// Document is one part of a YAML stream: its text, its place among the documents that are not empty
// (the first is 1), and the number of lines before it.
type Document struct {
	Text  []byte
	index int
	line  int
}

// Separator tells whether a line ends a document, and what of it belongs to the next one.
type Separator func(line []byte) (rest []byte, ends bool)

// KubernetesSeparator is kubectl's rule: three dashes, then nothing but blanks or a comment.
func KubernetesSeparator(line []byte) ([]byte, bool) {
	rest, dashed := bytes.CutPrefix(bytes.TrimPrefix(line, utf8Mark), []byte("---"))
	if !dashed {
		return nil, false
	}
	rest = bytes.TrimSpace(rest)
	return nil, len(rest) == 0 || rest[0] == '#'
}

// HelmSeparator is Helm's rule: three dashes end a document, whatever follows begins the next
// (charts in the wild render "---apiVersion: v1").
func HelmSeparator(line []byte) ([]byte, bool) {
	rest, dashed := bytes.CutPrefix(bytes.TrimPrefix(line, utf8Mark), []byte("---"))
	return bytes.TrimLeft(rest, " \t"), dashed
}

// Documents cuts a text in UTF-8 into its documents, without those that are empty.
func Documents(content []byte, cut Separator) []Document {
	var found []Document
	current, number := Document{}, 0
	for line := range bytes.Lines(content) {
		if rest, ends := cut(line); ends {
			found = keep(found, current)
			current = afterDashes(rest, number)
		} else {
			if len(bytes.TrimSpace(current.Text)) == 0 { // files that were put together have marks inside
				line = bytes.TrimPrefix(line, utf8Mark)
			}
			current.Text = append(current.Text, line...)
		}
		number++
	}
	return keep(found, current)
}

// afterDashes starts a document with the text behind its dashes. An empty first line keeps the parser's line
// numbers counting from the dashes.
func afterDashes(rest []byte, line int) Document {
	if len(bytes.TrimSpace(rest)) == 0 {
		rest = []byte("\n")
	}
	return Document{Text: bytes.Clone(rest), line: line}
}

func keep(found []Document, one Document) []Document {
	if len(bytes.TrimSpace(one.Text)) == 0 {
		return found
	}
	one.index = len(found) + 1
	return append(found, one)
}

// Object parses the document, which must hold all of one object and nothing of another: a parser reads the
// first document of a text and drops the rest, and of two equal keys it takes the last.
func (d Document) Object() ([]byte, error) {
	if nothing.Match(d.Text) {
		return []byte("null"), nil
	}
	object, err := yaml.YAMLToJSON(d.Text)
	if err != nil {
		return nil, err
	}
	if mayEndEarly.Match(d.Text) && hasSecondDocument(d.Text) {
		return nil, errors.New("more follows the first document; put a line that is only --- between the two")
	}
	if topKeys.Match(d.Text) {
		if _, err := yaml.YAMLToJSONStrict(d.Text); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// topKeys finds a document whose apiVersion or kind is written twice, as where a --- between two is missing.
var topKeys = regexp.MustCompile(`(?ms)^apiVersion:.*^apiVersion:|^kind:.*^kind:`)

// nothing is a text of comments and end markers, which the parser takes for an error.
var nothing = regexp.MustCompile(`\A(?:\s|#[^\n]*|(?m:^\.\.\.$))*\z`)

// mayEndEarly finds what can end a document before its text ends: markers, and braces, brackets and quotes that
// may be all of it. A block without them goes on to the end of the text, or is an error.
var mayEndEarly = regexp.MustCompile(`---|\.\.\.|(?m:^[ \t]*[\[{"'])`)

func hasSecondDocument(text []byte) bool {
	decoder := yamlv2.NewDecoder(bytes.NewReader(text))
	var ignored any
	if err := decoder.Decode(&ignored); err != nil {
		return false
	}
	return decoder.Decode(&ignored) != io.EOF
}

// parseError is the parser's message, with a line also where the parser gives none: it reads a template's
// "{{ x }}" as a map that is the key of a map.
func (d Document) parseError(err error) string {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	before, _, braced := bytes.Cut(d.Text, []byte("{{"))
	if !braced || !strings.Contains(message, "invalid map key") {
		return message
	}
	line := strconv.Itoa(bytes.Count(before, []byte("\n")) + 1)
	return "line " + line + ": {{ is no YAML; render the template first, or put quotes around the value"
}

// Failure names the file, the document and the line of a parser's message.
func (d Document) Failure(file, message string) *wire.Failure {
	line := wire.LineOf(message)
	if line > 0 {
		line += d.line
		message = wire.WithLine(message, line)
	}
	place := file
	if d.index > 0 {
		place += ", document " + strconv.Itoa(d.index)
	}
	return &wire.Failure{
		Reason: wire.YamlInvalid, Message: wire.Clip(place + ": " + strings.TrimPrefix(message, "yaml: ")),
		File: file, Document: d.index, Line: line,
	}
}
