package kustomize

import (
	"path"
	"regexp"
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
}

var remote = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*::|[A-Za-z][A-Za-z0-9+.-]*://|[^/]+@[^/]+:|gh:)` +
	`|^(www\.)?(github|gitlab|bitbucket)\.[a-z]+[:/]|\.git(/|\?|$)|[?&](ref|version|timeout|submodules)=`)

// refuseRemote looks through a kustomization before kustomize does. What exists in the repository is local;
// what does not exist is either remote or missing, and both end here, so that kustomize never starts to fetch.
func (k *fileSystem) refuseRemote(file string, content []byte) error {
	var named references
	if err := yaml.Unmarshal(content, &named); err != nil {
		return nil // kustomize has the better message
	}
	for _, folders := range [][]string{named.Resources, named.Bases, named.Components} {
		for _, written := range folders {
			if err := k.local(file, written); err != nil {
				return err
			}
		}
	}
	return k.refuseRemoteFiles(file, named)
}

func (k *fileSystem) refuseRemoteFiles(file string, named references) error {
	paths := []string{named.OpenAPI["path"]}
	for _, patch := range named.Patches {
		paths = append(paths, patch.Path)
	}
	for _, list := range [][]string{named.Crds, named.Configurations, named.Generators, named.Transformers, named.Validators} {
		paths = append(paths, list...)
	}
	for _, written := range paths {
		if !strings.Contains(written, "\n") && remote.MatchString(written) {
			return k.files.Refuse(remoteFailure(file, written))
		}
	}
	return nil
}

func (k *fileSystem) local(file, written string) error {
	if written == "" || strings.Contains(written, "\n") {
		return nil
	}
	if strings.Contains(written, "://") {
		return k.files.Refuse(remoteFailure(file, written))
	}
	inner, err := k.inside(path.Join(repositoryFolder, path.Dir(file), written))
	if err != nil {
		return err
	}
	stat, err := k.files.Stat(inner)
	if err != nil || stat.Kind == wire.KindBlob || stat.Kind == wire.KindTree {
		return err
	}
	if remote.MatchString(written) || stat.Kind == wire.KindSubmodule {
		return k.files.Refuse(remoteFailure(file, written))
	}
	return k.files.Refuse(&wire.Failure{Reason: wire.FileNotFound, File: file,
		Message: file + " names " + written + ", which does not exist in the repository"})
}

func remoteFailure(file, written string) *wire.Failure {
	return &wire.Failure{Reason: wire.RemoteBase, File: file,
		Message: file + " names the remote base " + wire.WithoutPassword(written) +
			"; rendering has no network: copy it into the repository (or vendor it as a submodule's content) and name its path"}
}
