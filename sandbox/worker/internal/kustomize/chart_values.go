package kustomize

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"plumbline.dev/sandbox/worker/internal/helm"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// values are those of the file (that of the chart, where none is named) and of the entry, and over them the further files.
func (i *inflation) values(wanted types.HelmChart, files *repository.Files, root string) (map[string]any, error) {
	name := path.Join(root, "values.yaml")
	content, err := files.Read(name)
	if repository.IsMissing(err) {
		content, err = nil, nil
	}
	if wanted.ValuesFile != "" {
		name = wanted.ValuesFile
		content, err = i.file(name)
	}
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if wanted.ValuesMerge != "replace" || len(wanted.ValuesInline) == 0 {
		if values, err = helm.MergeValues(values, name, content); err != nil {
			return nil, err
		}
	}
	if len(wanted.ValuesInline) > 0 {
		if values, err = withInline(values, wanted); err != nil {
			return nil, i.refuse("values of the chart %s: %s", wanted.Name, err)
		}
	}
	for _, name := range wanted.AdditionalValuesFiles {
		content, err := i.file(name)
		if err != nil {
			return nil, err
		}
		if values, err = helm.MergeValues(values, name, content); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// withInline merges as kustomize does, by its own library: what is inline wins, unless the entry says otherwise.
func withInline(values map[string]any, wanted types.HelmChart) (map[string]any, error) {
	if wanted.ValuesMerge == "replace" || len(values) == 0 {
		return wanted.ValuesInline, nil
	}
	below, err := kyaml.FromMap(values)
	if err != nil {
		return nil, err
	}
	above, err := kyaml.FromMap(wanted.ValuesInline)
	if err != nil {
		return nil, err
	}
	if wanted.ValuesMerge == "merge" {
		below, above = above, below
	}
	merged, err := merge2.Merge(above, below, kyaml.MergeOptions{})
	if err != nil || merged == nil {
		return map[string]any{}, err
	}
	return merged.Map()
}

func (i *inflation) file(written string) ([]byte, error) {
	if remote.MatchString(written) {
		return nil, i.disk.files.Refuse(remoteFileFailure(i.at, written))
	}
	at, err := i.restricted(written)
	if err != nil {
		return nil, err
	}
	content, err := at.mount.files.Read(at.inner)
	if err != nil {
		return nil, i.disk.files.Refuse(wire.AsFailure(err, wire.FileNotFound))
	}
	return content, nil
}

// restricted is a path as kustomize may load it: below the kustomization, unless files from above may be used.
func (i *inflation) restricted(written string) (place, error) {
	root := path.Dir(i.at.path())
	name := written
	if !path.IsAbs(written) {
		name = path.Join(root, written)
	}
	at, err := i.disk.inside(name)
	if err != nil {
		return at, err
	}
	stat, err := at.mount.files.Stat(at.inner)
	if err != nil {
		return at, err
	}
	if led := (place{at.mount, stat.Path}); stat.Kind != "" {
		at = led
	}
	if i.disk.params.LoadRestrictor != "none" && !strings.HasPrefix(at.path(), root+"/") {
		return at, i.refuse("%s is not in the folder of the kustomization or below it", at.shown())
	}
	return at, nil
}
