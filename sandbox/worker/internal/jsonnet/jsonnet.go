// Package jsonnet evaluates jsonnet to objects, or to any JSON; imports come from the repository.
package jsonnet

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"

	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Variable is a text, or with Code a piece of jsonnet.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Code  bool   `json:"code"`
}

// Variables are what an Application gives to its jsonnet files.
type Variables struct {
	ExtVars []Variable `json:"extVars"`
	Tlas    []Variable `json:"tlas"`
	Libs    []string   `json:"libs"` // search paths from the repository's root
}

// Params of the operation.
type Params struct {
	Variables
	File string `json:"file"` // evaluated if the body is empty; else the name of the body
	Raw  bool   `json:"raw"`  // any JSON value, not objects of Kubernetes
}

// Evaluate evaluates a snippet (the body) or a file of the repository.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	if len(call.Body) == 0 {
		if _, err := call.Files.Read(params.File); err != nil {
			return wire.Answer{}, err
		}
	}
	if params.Raw {
		value, err := evaluate(call, params.Variables, params.File, call.Body)
		return wire.Answer{Body: value}, err
	}
	objects := manifest.NewObjects(call.Limits.OutputBytes)
	if err := add(objects, call, params.Variables, params.File, call.Body); err != nil {
		return wire.Answer{}, err
	}
	return objects.Answer(), nil
}

// Add adds the object, or the objects of the array, that the file evaluates to.
func Add(objects *manifest.Objects, call *operation.Call, variables Variables, file string) error {
	return add(objects, call, variables, file, nil)
}

// add evaluates the snippet, or else the file.
func add(objects *manifest.Objects, call *operation.Call, params Variables, file string, snippet []byte) error {
	value, err := evaluate(call, params, file, snippet)
	if err != nil {
		return err
	}
	parts := []json.RawMessage{value}
	if strings.HasPrefix(string(value), "[") {
		if err := json.Unmarshal(value, &parts); err != nil {
			return wire.NewFailure(wire.JsonnetFailed, "%s: %s", file, err)
		}
	}
	return objects.AddParts(file, parts)
}

func evaluate(call *operation.Call, params Variables, file string, snippet []byte) ([]byte, error) {
	imports, err := newImporter(call.Files, params.Libs)
	if err != nil {
		return nil, err
	}
	vm := jsonnet.MakeVM()
	vm.Importer(imports)
	bind(params.ExtVars, vm.ExtVar, vm.ExtCode)
	bind(params.Tlas, vm.TLAVar, vm.TLACode)
	value := ""
	if len(snippet) > 0 {
		value, err = vm.EvaluateAnonymousSnippet(file, string(snippet))
	} else {
		value, err = vm.EvaluateFile(file)
	}
	if err != nil {
		trouble := wire.AsFailure(err, wire.JsonnetFailed)
		trouble.File = file
		return nil, trouble
	}
	return []byte(strings.TrimSpace(value)), nil
}

func bind(variables []Variable, text, code func(name, value string)) {
	for _, variable := range variables {
		if variable.Code {
			code(variable.Name, variable.Value)
		} else {
			text(variable.Name, variable.Value)
		}
	}
}

// importer finds imports beside the importing file, then in the libraries, then from the root.
type importer struct {
	files  *repository.Files
	libs   []string
	loaded map[string]jsonnet.Contents // one Contents per file, as go-jsonnet demands
}

func newImporter(files *repository.Files, libraries []string) (*importer, error) {
	made := &importer{files: files, loaded: map[string]jsonnet.Contents{}}
	for _, written := range append(slices.Clone(libraries), "") {
		folder, err := repository.Resolve("", written)
		if err != nil {
			return nil, err
		}
		made.libs = append(made.libs, folder)
	}
	return made, nil
}

func (i *importer) Import(from, wanted string) (jsonnet.Contents, string, error) {
	for _, folder := range append([]string{path.Dir(from)}, i.libs...) {
		name, err := repository.Resolve(folder, wanted)
		if err != nil {
			return jsonnet.Contents{}, "", i.files.Refuse(wire.AsFailure(err, wire.OutsideRepository))
		}
		if known, ok := i.loaded[name]; ok {
			return known, name, nil
		}
		content, err := i.files.Read(name)
		if repository.IsMissing(err) {
			continue
		}
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		i.loaded[name] = jsonnet.MakeContentsRaw(content)
		return i.loaded[name], name, nil
	}
	return jsonnet.Contents{}, "", wire.NewFailure(wire.FileNotFound, "import %q of %s is neither beside it nor in a library", wanted, from)
}
