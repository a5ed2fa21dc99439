package kustomize

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"plumbline.dev/sandbox/worker/internal/helm"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const (
	inflated   = ".plumbline-helm-charts.yaml"
	mostCharts = 100

	helmNamespace = "default" // where Helm believes to install what nobody gave a namespace
)

// chartFields are the fields of a kustomization that name charts.
type chartFields struct {
	Namespace   string             `json:"namespace"`
	HelmCharts  []json.RawMessage  `json:"helmCharts"`
	HelmGlobals *types.HelmGlobals `json:"helmGlobals"`
	Deprecated  []json.RawMessage  `json:"helmChartInflationGenerator"`
}

// inflation renders the charts of a kustomization in the place of kustomize, which would run the program helm for it.
type inflation struct {
	disk  *fileSystem
	at    place
	named chartFields
	lacks []wire.Dependency
}

// inflate lays the objects of the charts into a file beside the kustomization, and names that among the resources.
func (k *fileSystem) inflate(at place, fields map[string]any, encoded []byte) error {
	var named chartFields
	if err := json.Unmarshal(encoded, &named); err != nil {
		return k.refuseChart(at, "%s", err)
	}
	if len(named.Deprecated) > 0 {
		return k.refuseChart(at, "helmChartInflationGenerator is an old form: write helmCharts (kustomize edit fix)")
	}
	if len(named.HelmCharts) == 0 {
		return nil
	}
	if k.charts += len(named.HelmCharts); k.charts > mostCharts {
		return k.refuseChart(at, "the kustomization inflates more than %d charts", mostCharts)
	}
	work := inflation{disk: k, at: at, named: named}
	var objects [][]byte
	for _, entry := range named.HelmCharts {
		found, err := work.objects(entry)
		if err != nil {
			return err
		}
		objects = append(objects, found...)
	}
	if len(work.lacks) > 0 {
		failure := wire.NewFailure(wire.MissingDependency, "%s names the chart %s %s of %s under helmCharts; rendering has no network: "+
			"copy it to the folder charts beside the kustomization", at.shown(), work.lacks[0].Name, work.lacks[0].Version,
			wire.WithoutPassword(work.lacks[0].Repository))
		failure.File, failure.Dependencies = at.shown(), work.lacks
		return k.files.Refuse(failure)
	}
	delete(fields, "helmCharts")
	delete(fields, "helmGlobals")
	if len(objects) > 0 {
		k.overlay[path.Join(path.Dir(at.path()), inflated)] = bytes.Join(objects, []byte("\n---\n"))
		resources, _ := fields["resources"].([]any)
		fields["resources"] = append(resources, inflated)
	}
	return nil
}

func (i *inflation) objects(entry json.RawMessage) ([][]byte, error) {
	wanted, err := i.read(entry)
	if err != nil {
		return nil, err
	}
	home, local, err := i.home(wanted)
	if err != nil {
		return nil, err
	}
	files, root := home.mount.files, home.inner
	if !local {
		dependency := wire.Dependency{Name: wanted.Name, Repository: wanted.Repo, Version: versionOf(wanted)}
		ref, ok := i.disk.fetched[dependency]
		if !ok {
			if !slices.Contains(i.lacks, dependency) {
				i.lacks = append(i.lacks, dependency)
			}
			return nil, nil
		}
		files, root = i.disk.files.Of(ref), ""
	}
	values, err := i.values(wanted, files, root)
	if err != nil {
		return nil, err
	}
	namespace, err := i.namespace(wanted)
	if err != nil {
		return nil, err
	}
	params := helm.Params{ReleaseName: wanted.ReleaseName, Namespace: namespace, SkipCrds: !wanted.IncludeCRDs, SkipTests: wanted.SkipTests,
		KubeVersion: wanted.KubeVersion, APIVersions: wanted.ApiVersions, Dependencies: i.disk.params.Dependencies}
	if params.KubeVersion == "" {
		params.KubeVersion = i.disk.params.KubeVersion
	}
	if len(params.APIVersions) == 0 {
		params.APIVersions = i.disk.params.APIVersions
	}
	body, err := helm.Inflate(files, root, values, params, i.disk.limits)
	if err != nil {
		return nil, i.disk.files.Refuse(wire.AsFailure(err, wire.TemplateFailed))
	}
	return marked(body, wanted.SkipHooks)
}

// read refuses what it does not know, since kustomize does not see the entry any more.
func (i *inflation) read(entry json.RawMessage) (types.HelmChart, error) {
	var wanted types.HelmChart
	decoder := json.NewDecoder(bytes.NewReader(entry))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return wanted, i.refuse("%s", err)
	}
	switch {
	case wanted.Name == "" || strings.Contains(wanted.Name, ".."):
		return wanted, i.refuse("the chart has the name %q; expected the name of a chart", wanted.Name)
	case wanted.NameTemplate != "":
		return wanted, i.refuse("nameTemplate of the chart %s is not acted on; write releaseName", wanted.Name)
	case wanted.ReleaseName == "":
		return wanted, i.refuse("the chart %s has no releaseName; Helm would make up another one in each build: write one", wanted.Name)
	case !slices.Contains([]string{"", "merge", "override", "replace"}, wanted.ValuesMerge):
		return wanted, i.refuse("valuesMerge of the chart %s is %q; expected merge, override or replace", wanted.Name, wanted.ValuesMerge)
	}
	for _, text := range []string{wanted.Name, wanted.Repo, wanted.Version} {
		if len(text) > longestRepository {
			return wanted, i.refuse("a chart has a field of %d characters; at most %d are read", len(text), longestRepository)
		}
	}
	return wanted, nil
}

// home is where the chart lies, if it lies beside the kustomization: then kustomize looks at no version.
func (i *inflation) home(wanted types.HelmChart) (place, bool, error) {
	folder := types.HelmDefaultHome
	if i.named.HelmGlobals != nil && i.named.HelmGlobals.ChartHome != "" {
		folder = i.named.HelmGlobals.ChartHome
	}
	if wanted.Version != "" && wanted.Repo != "" {
		folder = path.Join(folder, wanted.Name+"-"+wanted.Version)
	}
	at, err := i.restricted(path.Join(folder, wanted.Name))
	if err != nil {
		return at, false, err
	}
	stat, err := at.mount.files.Stat(at.inner)
	if err != nil || stat.Kind == wire.KindTree {
		return at, err == nil, err
	}
	if wanted.Repo == "" {
		return at, false, i.refuse("there is no chart %s at %s, and it has no repo to be read from", wanted.Name, at.shown())
	}
	return at, false, nil
}

// versionOf is what the agent looks for; without a version Helm takes the newest one.
func versionOf(wanted types.HelmChart) string {
	switch {
	case wanted.Version != "":
		return wanted.Version
	case wanted.Devel:
		return ">0.0.0-0"
	}
	return "*"
}

// namespace is that of the entry, else of its kustomization, else of the nearest one above that has one.
func (i *inflation) namespace(wanted types.HelmChart) (string, error) {
	if wanted.Namespace != "" {
		return wanted.Namespace, nil
	}
	if i.named.Namespace != "" {
		return i.named.Namespace, nil
	}
	inherited := i.disk.inherited[path.Dir(i.at.path())]
	if len(inherited) > 1 {
		return "", i.refuse("the chart %s has no namespace, and the kustomizations above give it several: %s; write one for the chart",
			wanted.Name, strings.Join(inherited, ", "))
	}
	if len(inherited) == 1 {
		return inherited[0], nil
	}
	return helmNamespace, nil
}

func (i *inflation) refuse(format string, args ...any) error {
	return i.disk.refuseChart(i.at, format, args...)
}

func (k *fileSystem) refuseChart(at place, format string, args ...any) error {
	failure := wire.NewFailure(wire.KustomizeFailed, format, args...)
	failure.File, failure.Message = at.shown(), at.shown()+": helmCharts: "+k.forPeople(failure.Message)
	return k.files.Refuse(failure)
}

// marked splits the objects, each with the mark by which kustomize leaves their namespaces to Helm.
func marked(body []byte, skipHooks bool) ([][]byte, error) {
	var found [][]byte
	for _, line := range bytes.Split(bytes.TrimSpace(body), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		object := map[string]any{}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&object); err != nil {
			return nil, wire.AsFailure(err, wire.TemplateFailed)
		}
		metadata, _ := object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if _, isHook := annotations["helm.sh/hook"]; isHook && skipHooks {
			continue
		}
		if metadata != nil {
			if annotations == nil {
				annotations = map[string]any{}
			}
			annotations[konfig.HelmGeneratedAnnotation] = "true"
			metadata["annotations"] = annotations
		}
		encoded, err := json.Marshal(object)
		if err != nil {
			return nil, wire.AsFailure(err, wire.TemplateFailed)
		}
		found = append(found, encoded)
	}
	return found, nil
}
