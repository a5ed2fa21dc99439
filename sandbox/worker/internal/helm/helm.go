// Package helm renders a chart that lies in the repository.
package helm

import (
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Path                    string          `json:"path"`
	ReleaseName             string          `json:"releaseName"`
	Namespace               string          `json:"namespace"`
	KubeVersion             string          `json:"kubeVersion"`
	APIVersions             []string        `json:"apiVersions"`
	ValueFiles              []string        `json:"valueFiles"`
	IgnoreMissingValueFiles bool            `json:"ignoreMissingValueFiles"`
	Values                  string          `json:"values"`
	ValuesObject            map[string]any  `json:"valuesObject"`
	Parameters              []Parameter     `json:"parameters"`
	FileParameters          []FileParameter `json:"fileParameters"`
	SkipCrds                bool            `json:"skipCrds"`
	SkipTests               bool            `json:"skipTests"`
	SkipSchemaValidation    bool            `json:"skipSchemaValidation"`
	Refs                    []string        `json:"refs"` // whose files may be read as $name/path
	Dependencies            []FetchedChart  `json:"dependencies"`
}

type Parameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

type FileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Evaluate renders a chart that lies in the repository, as `helm template` does. Hooks stay among the objects;
// `lookup` finds nothing. Nothing is downloaded: charts that it depends on are in the repository, or the agent has them.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	root, err := repository.ExistingFolder(call.Files, params.Path)
	if err != nil {
		return wire.Answer{}, err
	}
	loaded, err := loadComplete(call.Files, root, params.Dependencies)
	if err != nil {
		return wire.Answer{}, err
	}
	values, err := valuesOf(call.Files, root, params)
	if err != nil {
		return wire.Answer{}, err
	}
	rendered, err := renderChart(loaded, values, root, params)
	if err != nil {
		return wire.Answer{}, err
	}
	var crds []chart.CRD
	if !params.SkipCrds {
		crds = loaded.CRDObjects()
	}
	output := output{objects: manifest.NewObjects(call.Limits.OutputBytes), root: root, skipTests: params.SkipTests}
	err = output.addAll(crds, rendered)
	return output.objects.Answer(), err
}

func loadComplete(files *repository.Files, root string, fetched []FetchedChart) (*chart.Chart, error) {
	loader := newChartLoader(fetched)
	loaded, err := loader.load(location{files, root}, nil)
	if err != nil {
		return nil, err
	}
	if err := loadable(loaded); err != nil {
		return nil, err
	}
	return loaded, loader.lacking(loaded, root)
}

func renderChart(loaded *chart.Chart, values map[string]any, root string, params Params) (map[string]string, error) {
	capabilities, err := capabilitiesOf(loaded, params)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, wire.AsFailure(err, wire.ChartInvalid)
	}
	release := common.ReleaseOptions{Name: params.ReleaseName, Namespace: params.Namespace, Revision: 1, IsInstall: true}
	top, err := valuesutil.ToRenderValuesWithSchemaValidation(loaded, values, release, capabilities, params.SkipSchemaValidation)
	if err != nil {
		return nil, wire.AsFailure(err, wire.ValuesInvalid)
	}
	rendered, err := engine.Render(loaded, top)
	if err != nil {
		return nil, templateFailure(root, err)
	}
	return rendered, nil
}

func capabilitiesOf(loaded *chart.Chart, params Params) (*common.Capabilities, error) {
	capabilities := common.DefaultCapabilities.Copy()
	if params.KubeVersion != "" {
		version, err := common.ParseKubeVersion(params.KubeVersion)
		if err != nil {
			return nil, wire.NewFailure(wire.RequestInvalid, "Kubernetes version %q: %s", params.KubeVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	capabilities.APIVersions = append(slices.Clone(params.APIVersions), capabilities.APIVersions...)
	wanted := loaded.Metadata.KubeVersion
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		return nil, wire.NewFailure(wire.ChartInvalid, "chart %s wants Kubernetes %s, the destination has %s",
			loaded.Name(), wanted, capabilities.KubeVersion.Version)
	}
	return capabilities, nil
}

// loadable says why a chart cannot be installed.
func loadable(loaded *chart.Chart) error {
	if loaded.Metadata.Type == "library" {
		return wire.NewFailure(wire.ChartInvalid, "chart %s is a library: it has nothing to install", loaded.Name())
	}
	return nil
}
