package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// helmOutput turns rendered text into objects: CRDs first, then the templates by name, hooks in their places.
type helmOutput struct {
	objects   *Objects
	root      string
	skipTests bool
}

func (h *helmOutput) addAll(crds []chart.CRD, rendered map[string]string) error {
	for _, crd := range crds {
		if err := h.objects.addText(chartPath(h.root, crd.Filename), crd.File.Data, helmSeparator); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		base := path.Base(name)
		if strings.HasPrefix(base, "_") || base == "NOTES.txt" {
			continue
		}
		if err := h.addTemplate(chartPath(h.root, name), rendered[name]); err != nil {
			return err
		}
	}
	return nil
}

func (h *helmOutput) addTemplate(file, text string) error {
	for _, document := range documents([]byte(text), helmSeparator) {
		object, err := yaml.YAMLToJSON(document.text)
		if err != nil {
			trouble := document.failure(file, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
			trouble.Message += " (lines are of the rendered text)"
			return trouble
		}
		if h.skipTests && isTestHook(object) {
			continue
		}
		if err := h.objects.addDocument(file, document, object); err != nil {
			return err
		}
	}
	return nil
}

func isTestHook(object []byte) bool {
	if !bytes.Contains(object, []byte("helm.sh/hook")) {
		return false
	}
	var seen struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(object, &seen) != nil {
		return false
	}
	for _, event := range strings.Split(seen.Metadata.Annotations["helm.sh/hook"], ",") {
		switch strings.TrimSpace(event) {
		case "test", "test-success":
			return true
		}
	}
	return false
}

var placeInTemplate = regexp.MustCompile(`([\w.-]+/[\w./-]+):(\d+)`)

// templateFailure finds the file and line in the engine's message.
func templateFailure(root string, err error) *Failure {
	trouble := asFailure(err, TemplateFailed)
	if found := placeInTemplate.FindStringSubmatch(trouble.Message); found != nil {
		trouble.File = chartPath(root, found[1])
		trouble.Line, _ = strconv.Atoi(found[2])
	}
	return trouble
}
