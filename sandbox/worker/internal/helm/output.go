package helm

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// output turns rendered text into objects: CRDs first, then the templates by name, hooks in their places.
type output struct {
	objects   *manifest.Objects
	root      string
	skipTests bool
	last      releaseutil.Manifest // see endOf
}

func (h *output) addAll(crds []chart.CRD, rendered map[string]string) error {
	h.last = lastManifest(rendered)
	for place, crd := range crds {
		text := endOf(crd.File.Data, h.last.Content == "" && place == len(crds)-1)
		if err := h.objects.AddText(chartPath(h.root, crd.Filename), text, manifest.HelmSeparator); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if isNoManifest(name) {
			continue
		}
		if err := h.addTemplate(name, rendered[name]); err != nil {
			return err
		}
	}
	return nil
}

// isNoManifest tells partials and notes from templates of objects.
func isNoManifest(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "_") || base == "NOTES.txt"
}

// lastManifest is what Helm prints last before the hooks. A template that it cannot sort is refused later.
func lastManifest(rendered map[string]string) releaseutil.Manifest {
	files := maps.Clone(rendered)
	maps.DeleteFunc(files, func(name, _ string) bool { return isNoManifest(name) })
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil || len(manifests) == 0 {
		return releaseutil.Manifest{}
	}
	return manifests[len(manifests)-1]
}

// endOf gives a document the end that it has in Helm's output, as a |+ block keeps it: Helm prints a newline
// after each document, and cuts all space after the last one before it does.
func endOf(text []byte, last bool) []byte {
	if last {
		text = bytes.TrimRightFunc(text, unicode.IsSpace)
	}
	return append(bytes.Clone(text), '\n')
}

func (h *output) isLast(name string, text []byte) bool {
	return name == h.last.Name && string(bytes.TrimSpace(text)) == strings.TrimSpace(h.last.Content)
}

func (h *output) addTemplate(name, text string) error {
	file := chartPath(h.root, name)
	content, err := manifest.PlainText(file, []byte(text))
	if err != nil {
		return err
	}
	for _, document := range manifest.Documents(content, manifest.HelmSeparator) {
		document.Text = endOf(document.Text, h.isLast(name, document.Text))
		object, err := document.Object()
		if err != nil {
			trouble := document.Failure(file, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
			trouble.Message += " (lines are of the rendered text)"
			return trouble
		}
		if h.skipTests && isTestHook(object) {
			continue
		}
		if err := h.objects.AddDocument(file, document, object); err != nil {
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
func templateFailure(root string, err error) *wire.Failure {
	trouble := wire.AsFailure(err, wire.TemplateFailed)
	if found := placeInTemplate.FindStringSubmatch(trouble.Message); found != nil {
		trouble.File = chartPath(root, found[1])
		trouble.Line, _ = strconv.Atoi(found[2])
	}
	return trouble
}
