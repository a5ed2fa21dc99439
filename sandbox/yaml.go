package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

type yamlParams struct {
	File string `json:"file"` // the name errors and origins use
	Each bool   `json:"each"` // a document that cannot be read is answered in its place, see passOver
}

// yamlOp turns a manifest file, given as the body, into objects.
func yamlOp(call *Call) (Answer, error) {
	var params yamlParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	objects := &Objects{limit: call.Limits.OutputBytes, each: params.Each}
	if err := objects.addManifest(params.File, call.Body); err != nil {
		return Answer{}, err
	}
	return objects.answer(), nil
}

// addManifest reads a file as Kubernetes tools do: a stream of JSON objects if it begins with a brace and
// is one, else YAML. The JSON way keeps numbers of any size digit by digit.
func (o *Objects) addManifest(file string, content []byte) error {
	content, err := plainText(file, content)
	if err != nil {
		return err
	}
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		if parts, ok := jsonStream(trimmed); ok {
			return o.addParts(file, parts)
		}
		if strings.HasSuffix(file, ".json") {
			return jsonFailure(file, content)
		}
	}
	return o.addText(file, content, kubernetesSeparator)
}

func jsonStream(content []byte) ([]json.RawMessage, bool) {
	var parts []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var part json.RawMessage
		switch err := decoder.Decode(&part); err {
		case nil:
			parts = append(parts, part)
		case io.EOF:
			return parts, true
		default:
			return nil, false
		}
	}
}

func (o *Objects) addParts(file string, parts []json.RawMessage) error {
	for index, part := range parts {
		if err := o.passOver(o.addDocument(file, document{index: index + 1}, part)); err != nil {
			return err
		}
	}
	return nil
}

// jsonFailure says where a JSON file breaks; YAML, its superset, gets the last word on whether it does.
func jsonFailure(file string, content []byte) error {
	_, err := yaml.YAMLToJSON(content)
	if err == nil {
		return (document{index: 1}).failure(file, "not a stream of JSON objects")
	}
	return (document{index: 1}).failure(file, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
}
