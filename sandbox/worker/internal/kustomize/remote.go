package kustomize

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// references are the fields of a kustomization that name folders or files, and from where kustomize would
// fetch what is not in the repository.
type references struct {
	Resources      []string `json:"resources"`
	Bases          []string `json:"bases"`
	Components     []string `json:"components"`
	Crds           []string `json:"crds"`
	Configurations []string `json:"configurations"`
	Generators     []string `json:"generators"`
	Transformers   []string `json:"transformers"`
	Validators     []string `json:"validators"`
	Patches        []struct {
		Path string `json:"path"`
	} `json:"patches"`
	OpenAPI map[string]string `json:"openapi"`

	Namespace  string            `json:"namespace"`
	HelmCharts []json.RawMessage `json:"helmCharts"`
	HelmOfOld  []json.RawMessage `json:"helmChartInflationGenerator"`
}

// withBases are the fields of which an entry may be a base that the agent has fetched.
var withBases = []string{"resources", "bases", "components"}

var remote = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*::|[A-Za-z][A-Za-z0-9+.-]*://|[^/]+@[^/]+:|gh:)` +
	`|^(www\.)?(github|gitlab|bitbucket)\.[a-z]+[:/]|\.git(/|\?|$)|[?&](ref|version|timeout|submodules)=`)

// localised looks through a kustomization before kustomize does, so that kustomize never starts to fetch. A remote base
// that the agent has fetched gets the path at which it is mounted; one that it has not is named in the failure.
func (k *fileSystem) localised(at place, content []byte) ([]byte, error) {
	var named references
	if err := yaml.Unmarshal(content, &named); err != nil {
		return content, nil // kustomize has the better message
	}
	var wanted []wire.Base
	moved := map[string]string{}
	for _, written := range slices.Concat(named.Resources, named.Bases, named.Components) {
		base, err := k.baseIn(at, written)
		switch {
		case err != nil:
			return nil, err
		case base == nil:
		case k.bases[base.Base] != nil:
			if moved[written], err = k.mounted(at, written, base); err != nil {
				return nil, err
			}
		case !slices.Contains(wanted, base.Base):
			wanted = append(wanted, base.Base)
		}
	}
	if err := k.refuseRemoteFiles(at, named); err != nil {
		return nil, err
	}
	if len(wanted) > 0 {
		failure := remoteFailure(at, wanted[0].Repository)
		failure.Bases = wanted
		return nil, k.files.Refuse(failure)
	}
	if !k.params.EnableHelm {
		return k.rewritten(at, content, moved, false)
	}
	if err := k.passOn(at, named, moved); err != nil {
		return nil, err
	}
	return k.rewritten(at, content, moved, len(named.HelmCharts)+len(named.HelmOfOld) > 0)
}

func (k *fileSystem) refuseRemoteFiles(at place, named references) error {
	paths := []string{named.OpenAPI["path"]}
	for _, patch := range named.Patches {
		paths = append(paths, patch.Path)
	}
	for _, list := range [][]string{named.Crds, named.Configurations, named.Generators, named.Transformers, named.Validators} {
		paths = append(paths, list...)
	}
	for _, written := range paths {
		if !strings.Contains(written, "\n") && remote.MatchString(written) {
			return k.files.Refuse(remoteFileFailure(at, written))
		}
	}
	return nil
}

// baseIn gives the remote base that an entry names, nil where it names a file or a folder of its own repository.
func (k *fileSystem) baseIn(at place, written string) (*remoteBase, error) {
	if written == "" || strings.Contains(written, "\n") {
		return nil, nil
	}
	base := parseBase(written)
	kind := ""
	if !strings.Contains(written, "://") {
		stat, err := k.stat(path.Join(path.Dir(at.path()), written))
		if err != nil {
			return nil, err
		}
		// A folder of such a name is passed over, as kustomize does.
		if kind = stat.Kind; kind == wire.KindBlob || kind == wire.KindTree && base == nil {
			return nil, nil
		}
	}
	switch {
	case base != nil && isManifestFile(base.Path):
		return nil, k.files.Refuse(remoteFileFailure(at, written))
	case base != nil:
		return base, k.checkLength(at, base)
	case kind == wire.KindSubmodule || remote.MatchString(written):
		return nil, k.files.Refuse(remoteFailure(at, written))
	}
	return nil, k.files.Refuse(&wire.Failure{Reason: wire.FileNotFound, File: at.shown(),
		Message: at.shown() + " names " + written + ", which does not exist in the repository"})
}

// mounted is the path, from the kustomization, at which a fetched base lies.
func (k *fileSystem) mounted(at place, written string, base *remoteBase) (string, error) {
	mount := k.bases[base.Base]
	stat, err := mount.files.Stat(base.Path)
	if err != nil {
		return "", err
	}
	if stat.Kind != wire.KindTree {
		return "", k.files.Refuse(&wire.Failure{Reason: wire.PathNotFound, File: at.shown(), Message: wire.Clip(
			at.shown() + " names the remote base " + wire.WithoutPassword(written) + ", and there is no folder " + base.Path + " in it")})
	}
	return filepath.Rel(path.Dir(at.path()), path.Join(mount.folder, base.Path))
}

// passOn notes the namespace that the kustomizations below one have from it, for their charts.
func (k *fileSystem) passOn(at place, named references, moved map[string]string) error {
	folder := path.Dir(at.path())
	namespaces := k.inherited[folder]
	if named.Namespace != "" {
		namespaces = []string{named.Namespace}
	} else if len(namespaces) == 0 {
		namespaces = []string{helmNamespace}
	}
	for _, written := range slices.Concat(named.Resources, named.Bases, named.Components) {
		if written == "" || strings.Contains(written, "\n") {
			continue
		}
		if local, ok := moved[written]; ok {
			written = local
		}
		below, stat, err := k.look(path.Join(folder, written))
		if err != nil {
			return err
		}
		if stat.Kind == wire.KindTree {
			inner := place{below.mount, stat.Path}.path()
			k.inherited[inner] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(k.inherited[inner], namespaces))))
		}
	}
	return nil
}

// rewritten writes other paths into a kustomization, and the objects of its charts in their place; kustomize reads JSON
// as it reads YAML.
func (k *fileSystem) rewritten(at place, content []byte, moved map[string]string, hasCharts bool) ([]byte, error) {
	if len(moved) == 0 && !hasCharts {
		return content, nil
	}
	encoded, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	for _, name := range withBases {
		list, _ := fields[name].([]any)
		for number, entry := range list {
			written, _ := entry.(string)
			if local, ok := moved[written]; ok {
				list[number] = local
			}
		}
	}
	if hasCharts {
		if err := k.inflate(at, fields, encoded); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func remoteFailure(at place, written string) *wire.Failure {
	return &wire.Failure{Reason: wire.RemoteBase, File: at.shown(),
		Message: wire.Clip(at.shown() + " names the remote base " + wire.WithoutPassword(written) +
			"; rendering has no network: copy it into the repository (or vendor it as a submodule's content) and name its path")}
}

func remoteFileFailure(at place, written string) *wire.Failure {
	return &wire.Failure{Reason: wire.RemoteBase, File: at.shown(),
		Message: wire.Clip(at.shown() + " names the remote file " + wire.WithoutPassword(written) +
			"; files are not fetched from URLs, only folders of Git repositories under resources and components: copy it into the repository" +
			" and name its path")}
}
