package main

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/google/go-jsonnet"
)

// jsonnetVariable is a text, or with Code a piece of jsonnet.
type jsonnetVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Code  bool   `json:"code"`
}

type jsonnetParams struct {
	ExtVars []jsonnetVariable `json:"extVars"`
	Tlas    []jsonnetVariable `json:"tlas"`
	Libs    []string          `json:"libs"` // search paths from the repository's root
}

type jsonnetOpParams struct {
	jsonnetParams
	File string `json:"file"` // evaluated if the body is empty; else the name of the body
	Raw  bool   `json:"raw"`  // any JSON value, not objects of Kubernetes
}

// jsonnetOp evaluates a snippet (the body) or a file of the repository.
func jsonnetOp(call *Call) (Answer, error) {
	var params jsonnetOpParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	if len(call.Body) == 0 {
		if _, err := call.Files.Read(params.File); err != nil {
			return Answer{}, err
		}
	}
	if params.Raw {
		value, err := evaluateJsonnet(call, params.jsonnetParams, params.File, call.Body)
		return Answer{Body: value}, err
	}
	objects := &Objects{limit: call.Limits.OutputBytes}
	if err := objects.addJsonnet(call, params.jsonnetParams, params.File, call.Body); err != nil {
		return Answer{}, err
	}
	return objects.answer(), nil
}

// addJsonnet adds the object, or the objects of the array, that the snippet or else the file evaluates to.
func (o *Objects) addJsonnet(call *Call, params jsonnetParams, file string, snippet []byte) error {
	value, err := evaluateJsonnet(call, params, file, snippet)
	if err != nil {
		return err
	}
	parts := []json.RawMessage{value}
	if strings.HasPrefix(string(value), "[") {
		if err := json.Unmarshal(value, &parts); err != nil {
			return failure(JsonnetFailed, "%s: %s", file, err)
		}
	}
	return o.addParts(file, parts)
}

func evaluateJsonnet(call *Call, params jsonnetParams, file string, snippet []byte) ([]byte, error) {
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnetImporter{files: call.Files, libs: append(params.Libs, ""), loaded: map[string]jsonnet.Contents{}})
	bindJsonnet(params.ExtVars, vm.ExtVar, vm.ExtCode)
	bindJsonnet(params.Tlas, vm.TLAVar, vm.TLACode)
	value, err := "", error(nil)
	if len(snippet) > 0 {
		value, err = vm.EvaluateAnonymousSnippet(file, string(snippet))
	} else {
		value, err = vm.EvaluateFile(file)
	}
	if err != nil {
		trouble := asFailure(err, JsonnetFailed)
		trouble.File = file
		return nil, trouble
	}
	return []byte(strings.TrimSpace(value)), nil
}

func bindJsonnet(variables []jsonnetVariable, text, code func(name, value string)) {
	for _, variable := range variables {
		if variable.Code {
			code(variable.Name, variable.Value)
		} else {
			text(variable.Name, variable.Value)
		}
	}
}

// jsonnetImporter finds imports beside the importing file, then in the libraries, then from the root.
type jsonnetImporter struct {
	files  *Files
	libs   []string
	loaded map[string]jsonnet.Contents // one Contents per file, as go-jsonnet demands
}

func (i *jsonnetImporter) Import(from, wanted string) (jsonnet.Contents, string, error) {
	for _, folder := range append([]string{path.Dir(from)}, i.libs...) {
		name, err := resolve(folder, wanted)
		if err != nil {
			return jsonnet.Contents{}, "", i.files.refuse(asFailure(err, OutsideRepository))
		}
		if known, ok := i.loaded[name]; ok {
			return known, name, nil
		}
		content, err := i.files.Read(name)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		i.loaded[name] = jsonnet.MakeContentsRaw(content)
		return i.loaded[name], name, nil
	}
	return jsonnet.Contents{}, "", failure(FileNotFound, "import %q of %s is neither beside it nor in a library", wanted, from)
}
