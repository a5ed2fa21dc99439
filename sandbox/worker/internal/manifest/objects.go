// Package manifest turns texts into Kubernetes objects: it finds the documents of a text and reads each as JSON.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// Objects collects Kubernetes objects as JSON lines with the origin of each.
type Objects struct {
	body    bytes.Buffer
	origins []wire.Origin
	limit   int
	each    bool // one bad document does not spoil the others
	plain   bool // documents of any kind, as they are written
}

// NewObjects makes an empty collection of at most `limit` bytes.
func NewObjects(limit int) *Objects { return &Objects{limit: limit} }

// broken takes the place of a document that could not be read; no object looks like it.
type broken struct {
	Failure struct {
		Message  string `json:"message"`
		Document int    `json:"document"`
		Line     int    `json:"line"`
	} `json:"failure"`
}

// Answer gives all objects, one on each line.
func (o *Objects) Answer() wire.Answer { return wire.Answer{Body: o.body.Bytes(), Origins: o.origins} }

func (o *Objects) add(object []byte, origin wire.Origin) error {
	if o.body.Len()+len(object) > o.limit {
		return &wire.Failure{Reason: wire.OutputTooLarge, File: origin.File, Message: "the manifests have more bytes than the limit allows"}
	}
	if err := json.Compact(&o.body, object); err != nil {
		return wire.NewFailure(wire.YamlInvalid, "%s: %s", origin.File, err)
	}
	o.body.WriteByte('\n')
	o.origins = append(o.origins, origin)
	return nil
}

// AddText reads every document of a manifest file.
func (o *Objects) AddText(file string, content []byte, cut Separator) error {
	content, err := PlainText(file, content)
	if err != nil {
		return err
	}
	for _, document := range Documents(content, cut) {
		if err := o.passOver(o.addYAML(file, document)); err != nil {
			return err
		}
	}
	return nil
}

func (o *Objects) addYAML(file string, document Document) error {
	object, err := document.Object()
	if err != nil {
		return document.Failure(file, document.parseError(err))
	}
	return o.AddDocument(file, document, object)
}

// passOver answers a broken document in its place where each one counts for itself.
func (o *Objects) passOver(err error) error {
	var found *wire.Failure
	if err == nil || !o.each || !errors.As(err, &found) || found.Reason != wire.YamlInvalid {
		return err
	}
	var shown broken
	shown.Failure.Message, shown.Failure.Document, shown.Failure.Line = found.Message, found.Document, found.Line
	line, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	return o.add(line, wire.Origin{File: found.File, Document: found.Document})
}

// AddDocument adds an object that was read from the document; a List counts as its items.
func (o *Objects) AddDocument(file string, document Document, object []byte) error {
	object = bytes.TrimSpace(object)
	if bytes.Equal(object, []byte("null")) {
		return nil
	}
	if depth(object) > maxDepth {
		return document.Failure(file, "the object is nested more than "+strconv.Itoa(maxDepth)+" levels deep")
	}
	if o.plain {
		return o.add(object, wire.Origin{File: file, Document: document.index})
	}
	items, err := expand(object)
	if err != nil {
		return document.Failure(file, err.Error())
	}
	for _, item := range items {
		if err := o.add(item, wire.Origin{File: file, Document: document.index}); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth of an object: far more than any real one has, and less than what ends a reader that calls itself for
// each level, such as the agent's.
const maxDepth = 200

// depth is how many braces and brackets of a JSON text are open at once, at most.
func depth(object []byte) int {
	open, most := 0, 0
	inText, escaped := false, false
	for _, char := range object {
		switch {
		case escaped:
			escaped = false
		case inText:
			inText, escaped = char != '"', char == '\\'
		case char == '"':
			inText = true
		case char == '{' || char == '[':
			open++
			most = max(most, open)
		case char == '}' || char == ']':
			open--
		}
	}
	return most
}

type head struct {
	Kind   *string         `json:"kind"`
	Items  json.RawMessage `json:"items"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// lfsPointer begins a pointer of Git LFS, which YAML reads as one text.
var lfsPointer = []byte(`"version https://git-lfs.github.com/spec/`)

// expand gives the object itself or, for any kind of List, its items.
func expand(object []byte) ([]json.RawMessage, error) {
	var seen head
	if bytes.HasPrefix(object, lfsPointer) {
		return nil, wire.NewFailure(wire.YamlInvalid, "this is a pointer of Git LFS in place of the file; set enableLfs: \"true\" in the repository's Secret")
	}
	if object[0] != '{' {
		return nil, wire.NewFailure(wire.YamlInvalid, "expected an object with apiVersion and kind, found %s", wire.Clip(firstBytes(object)))
	}
	if err := json.Unmarshal(object, &seen); err != nil {
		return nil, wire.NewFailure(wire.YamlInvalid, "kind must be a text")
	}
	if seen.Kind == nil || *seen.Kind == "" {
		return nil, wire.NewFailure(wire.YamlInvalid, "the object has no kind")
	}
	switch {
	case !strings.HasSuffix(*seen.Kind, "List") || len(seen.Items) == 0:
		return []json.RawMessage{object}, nil
	case seen.Items[0] == '[':
		return expandItems(seen.Items)
	case string(seen.Items) == "null" && seen.Spec == nil && seen.Status == nil: // an empty list, as Go writes it
		return nil, nil
	}
	return []json.RawMessage{object}, nil
}

func expandItems(list json.RawMessage) ([]json.RawMessage, error) {
	var items, all []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, err
	}
	for _, item := range items {
		inner, err := expand(item)
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	return all, nil
}

func firstBytes(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + " ..."
	}
	return string(text)
}
