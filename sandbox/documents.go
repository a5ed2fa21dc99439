package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"

	"sigs.k8s.io/yaml"
)

// document is one part of a YAML stream: its text, its place among the documents that are not empty
// (the first is 1), and the number of lines before it.
type document struct {
	text  []byte
	index int
	line  int
}

// separator tells whether a line ends a document, and what of it belongs to the next one.
type separator func(line []byte) (rest []byte, ends bool)

// kubernetesSeparator is kubectl's rule: three dashes, then nothing but blanks or a comment.
func kubernetesSeparator(line []byte) ([]byte, bool) {
	rest, dashed := bytes.CutPrefix(bytes.TrimPrefix(line, utf8Mark), []byte("---"))
	if !dashed {
		return nil, false
	}
	rest = bytes.TrimSpace(rest)
	return nil, len(rest) == 0 || rest[0] == '#'
}

// helmSeparator is Helm's rule: three dashes end a document, whatever follows begins the next
// (charts in the wild render "---apiVersion: v1").
func helmSeparator(line []byte) ([]byte, bool) {
	rest, dashed := bytes.CutPrefix(bytes.TrimPrefix(line, utf8Mark), []byte("---"))
	return bytes.TrimLeft(rest, " \t"), dashed
}

// documents cuts a text in UTF-8 into its documents, without those that are empty.
func documents(content []byte, cut separator) []document {
	var found []document
	current, number := document{}, 0
	for line := range bytes.Lines(content) {
		if rest, ends := cut(line); ends {
			found = keep(found, current)
			current = begun(rest, number)
		} else {
			if len(bytes.TrimSpace(current.text)) == 0 { // files that were put together have marks inside
				line = bytes.TrimPrefix(line, utf8Mark)
			}
			current.text = append(current.text, line...)
		}
		number++
	}
	return keep(found, current)
}

// begun is a document after its dashes; an empty first line keeps the parser's lines counting from them.
func begun(rest []byte, line int) document {
	if len(bytes.TrimSpace(rest)) == 0 {
		rest = []byte("\n")
	}
	return document{text: bytes.Clone(rest), line: line}
}

func keep(found []document, one document) []document {
	if len(bytes.TrimSpace(one.text)) == 0 {
		return found
	}
	one.index = len(found) + 1
	return append(found, one)
}

// object parses the document, which must hold all of one object and nothing of another: a parser reads the
// first document of a text and drops the rest, and of two equal keys it takes the last.
func (d document) object() ([]byte, error) {
	if nothing.Match(d.text) {
		return []byte("null"), nil
	}
	object, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, err
	}
	if mayEndEarly.Match(d.text) && hasSecondDocument(d.text) {
		return nil, errors.New("more follows the first document; put a line that is only --- between the two")
	}
	if topKeys.Match(d.text) {
		if _, err := yaml.YAMLToJSONStrict(d.text); err != nil {
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

// told is what the parser says, with a line also where it gives none: a template's "{{ x }}" is to it a
// map as the key of a map.
func (d document) told(err error) string {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	before, _, braced := bytes.Cut(d.text, []byte("{{"))
	if !braced || !strings.Contains(message, "invalid map key") {
		return message
	}
	line := itoa(bytes.Count(before, []byte("\n")) + 1)
	return "line " + line + ": {{ is no YAML; render the template first, or put quotes around the value"
}

func (d document) failure(file, message string) *Failure {
	line := lineOf(message)
	if line > 0 {
		line += d.line
		message = lineInMessage.ReplaceAllString(message, "line "+itoa(line))
	}
	place := file
	if d.index > 0 {
		place += ", document " + itoa(d.index)
	}
	return &Failure{
		Reason: YamlInvalid, Message: clip(place + ": " + strings.TrimPrefix(message, "yaml: ")),
		File: file, Document: d.index, Line: line,
	}
}
