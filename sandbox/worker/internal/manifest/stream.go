package manifest

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	File string `json:"file"` // the name errors and origins use
	Each bool   `json:"each"` // a document that cannot be read is answered in its place, see passOver

	Plain bool `json:"plain"` // the documents need not be objects of Kubernetes
}

// Evaluate turns a manifest file, given as the body, into objects.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	objects := &Objects{limit: call.Limits.OutputBytes, each: params.Each, plain: params.Plain}
	if err := objects.AddManifest(params.File, call.Body); err != nil {
		return wire.Answer{}, err
	}
	return objects.Answer(), nil
}

// AddManifest reads a file as Kubernetes tools do: a stream of JSON objects if it begins with a brace and
// is one, else YAML. The JSON way keeps numbers of any size digit by digit.
func (o *Objects) AddManifest(file string, content []byte) error {
	content, err := PlainText(file, content)
	if err != nil {
		return err
	}
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		if parts, ok := jsonStream(trimmed); ok {
			return o.AddParts(file, parts)
		}
		if strings.HasSuffix(file, ".json") {
			return jsonFailure(file, content)
		}
	}
	return o.AddText(file, content, KubernetesSeparator)
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

// AddParts adds every document of the file, each as JSON.
func (o *Objects) AddParts(file string, parts []json.RawMessage) error {
	for index, part := range parts {
		if err := o.passOver(o.AddDocument(file, Document{index: index + 1}, part)); err != nil {
			return err
		}
	}
	return nil
}

// jsonFailure says where a JSON file breaks; YAML, its superset, gets the last word on whether it does.
func jsonFailure(file string, content []byte) error {
	_, err := yaml.YAMLToJSON(content)
	if err == nil {
		return (Document{index: 1}).Failure(file, "not a stream of JSON objects")
	}
	return (Document{index: 1}).Failure(file, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
}
