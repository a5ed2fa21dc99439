package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Objects collects Kubernetes objects as JSON lines with the origin of each.
type Objects struct {
	body    bytes.Buffer
	origins []Origin
	limit   int
	each    bool // one bad document does not spoil the others
}

// broken stands in the answer where a document could not be read; no object looks like it.
type broken struct {
	Failure struct {
		Message  string `json:"message"`
		Document int    `json:"document"`
		Line     int    `json:"line"`
	} `json:"failure"`
}

func (o *Objects) answer() Answer { return Answer{Body: o.body.Bytes(), Origins: o.origins} }

func (o *Objects) add(object []byte, origin Origin) error {
	if o.body.Len()+len(object) > o.limit {
		return &Failure{Reason: OutputTooLarge, File: origin.File, Message: "the manifests have more bytes than the limit allows"}
	}
	if err := json.Compact(&o.body, object); err != nil {
		return failure(YamlInvalid, "%s: %s", origin.File, err)
	}
	o.body.WriteByte('\n')
	o.origins = append(o.origins, origin)
	return nil
}

// addText reads every document of a manifest file.
func (o *Objects) addText(file string, content []byte, cut separator) error {
	content, err := plainText(file, content)
	if err != nil {
		return err
	}
	for _, document := range documents(content, cut) {
		if err := o.passOver(o.addYAML(file, document)); err != nil {
			return err
		}
	}
	return nil
}

func (o *Objects) addYAML(file string, document document) error {
	object, err := document.object()
	if err != nil {
		return document.failure(file, document.told(err))
	}
	return o.addDocument(file, document, object)
}

// passOver answers a broken document in its place where each one counts for itself.
func (o *Objects) passOver(err error) error {
	var found *Failure
	if err == nil || !o.each || !errors.As(err, &found) || found.Reason != YamlInvalid {
		return err
	}
	var told broken
	told.Failure.Message, told.Failure.Document, told.Failure.Line = found.Message, found.Document, found.Line
	line, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return o.add(line, Origin{File: found.File, Document: found.Document})
}

func (o *Objects) addDocument(file string, document document, object []byte) error {
	object = bytes.TrimSpace(object)
	if bytes.Equal(object, []byte("null")) {
		return nil
	}
	items, err := expand(object)
	if err != nil {
		return document.failure(file, err.Error())
	}
	for _, item := range items {
		if err := o.add(item, Origin{File: file, Document: document.index}); err != nil {
			return err
		}
	}
	return nil
}

type head struct {
	Kind   *string         `json:"kind"`
	Items  json.RawMessage `json:"items"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// expand gives the object itself or, for any kind of List, its items.
func expand(object []byte) ([]json.RawMessage, error) {
	var seen head
	if object[0] != '{' {
		return nil, failure(YamlInvalid, "expected an object with apiVersion and kind, found %s", clip(firstBytes(object)))
	}
	if err := json.Unmarshal(object, &seen); err != nil {
		return nil, failure(YamlInvalid, "kind must be a text")
	}
	if seen.Kind == nil || *seen.Kind == "" {
		return nil, failure(YamlInvalid, "the object has no kind")
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
