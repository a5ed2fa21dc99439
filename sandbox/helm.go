package main

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

type helmParams struct {
	Path                    string              `json:"path"`
	ReleaseName             string              `json:"releaseName"`
	Namespace               string              `json:"namespace"`
	KubeVersion             string              `json:"kubeVersion"`
	APIVersions             []string            `json:"apiVersions"`
	ValueFiles              []string            `json:"valueFiles"`
	IgnoreMissingValueFiles bool                `json:"ignoreMissingValueFiles"`
	Values                  string              `json:"values"`
	ValuesObject            map[string]any      `json:"valuesObject"`
	Parameters              []helmParameter     `json:"parameters"`
	FileParameters          []helmFileParameter `json:"fileParameters"`
	SkipCrds                bool                `json:"skipCrds"`
	SkipTests               bool                `json:"skipTests"`
	SkipSchemaValidation    bool                `json:"skipSchemaValidation"`
}

type helmParameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

type helmFileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// helmOp renders a chart that lies in the repository, as `helm template` does. Hooks stay among the objects;
// `lookup` finds nothing; nothing is downloaded.
func helmOp(call *Call) (Answer, error) {
	var params helmParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	root, err := existingFolder(call.Files, params.Path)
	if err != nil {
		return Answer{}, err
	}
	loaded, err := loadChart(call.Files, root)
	if err != nil {
		return Answer{}, err
	}
	values, err := helmValues(call.Files, root, params)
	if err != nil {
		return Answer{}, err
	}
	rendered, err := renderChart(loaded, values, root, params)
	if err != nil {
		return Answer{}, err
	}
	var crds []chart.CRD
	if !params.SkipCrds {
		crds = loaded.CRDObjects()
	}
	output := helmOutput{objects: &Objects{limit: call.Limits.OutputBytes}, root: root, skipTests: params.SkipTests}
	err = output.addAll(crds, rendered)
	return output.objects.answer(), err
}

func renderChart(loaded *chart.Chart, values map[string]any, root string, params helmParams) (map[string]string, error) {
	capabilities, err := helmCapabilities(loaded, params)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, asFailure(err, ChartInvalid)
	}
	release := common.ReleaseOptions{Name: params.ReleaseName, Namespace: params.Namespace, Revision: 1, IsInstall: true}
	top, err := valuesutil.ToRenderValuesWithSchemaValidation(loaded, values, release, capabilities, params.SkipSchemaValidation)
	if err != nil {
		return nil, asFailure(err, ValuesInvalid)
	}
	rendered, err := engine.Render(loaded, top)
	if err != nil {
		return nil, templateFailure(root, err)
	}
	return rendered, nil
}

func helmCapabilities(loaded *chart.Chart, params helmParams) (*common.Capabilities, error) {
	capabilities := common.DefaultCapabilities.Copy()
	if params.KubeVersion != "" {
		version, err := common.ParseKubeVersion(params.KubeVersion)
		if err != nil {
			return nil, failure(RequestInvalid, "Kubernetes version %q: %s", params.KubeVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	capabilities.APIVersions = append(slices.Clone(params.APIVersions), capabilities.APIVersions...)
	wanted := loaded.Metadata.KubeVersion
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		return nil, failure(ChartInvalid, "chart %s wants Kubernetes %s, the destination has %s",
			loaded.Name(), wanted, capabilities.KubeVersion.Version)
	}
	return capabilities, nil
}

// loadable says why a chart cannot be rendered as it lies in the repository.
func loadable(loaded *chart.Chart, root string) error {
	if loaded.Metadata.Type == "library" {
		return failure(ChartInvalid, "chart %s is a library: it has nothing to install", loaded.Name())
	}
	var missing []string
	for _, wanted := range loaded.Metadata.Dependencies {
		present := slices.ContainsFunc(loaded.Dependencies(), func(c *chart.Chart) bool { return c.Name() == wanted.Name })
		if !present {
			missing = append(missing, fmt.Sprintf("%s %s", wanted.Name, wanted.Version))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Failure{Reason: MissingDependency, File: root + "/Chart.yaml",
		Message: fmt.Sprintf("chart %s depends on charts that are not in its charts/ folder: %s; run `helm dependency build` and commit charts/",
			loaded.Name(), strings.Join(missing, ", "))}
}
