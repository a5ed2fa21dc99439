package helm

import (
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Inflate renders a chart that a kustomization names, with values that are merged already; the files of the chart are
// those of its own source. Of the params only what says how to render counts.
func Inflate(files *repository.Files, root string, values map[string]any, params Params, limits wire.Limits) ([]byte, error) {
	loaded, err := loadComplete(files, root, params.Dependencies)
	if err != nil {
		return nil, err
	}
	rendered, err := renderChart(loaded, values, root, params)
	if err != nil {
		return nil, err
	}
	var crds []chart.CRD
	if !params.SkipCrds {
		crds = loaded.CRDObjects()
	}
	output := output{objects: manifest.NewObjects(limits.OutputBytes), root: root, skipTests: params.SkipTests}
	err = output.addAll(crds, rendered)
	return output.objects.Answer().Body, err
}

// MergeValues lays a value file over values.
func MergeValues(values map[string]any, name string, content []byte) (map[string]any, error) {
	return mergeValues(values, name, content)
}
