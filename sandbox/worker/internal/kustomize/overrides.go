package kustomize

import (
	"path"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// Overrides are an Application's kustomize fields. They mean what the `kustomize edit` commands do
// that Argo CD runs for them, but nothing is written: the edited kustomization exists for one build.
type Overrides struct {
	NamePrefix              string            `json:"namePrefix"`
	NameSuffix              string            `json:"nameSuffix"`
	Namespace               string            `json:"namespace"`
	Images                  []string          `json:"images"`
	Replicas                []types.Replica   `json:"replicas"`
	CommonLabels            map[string]string `json:"commonLabels"`
	ForceCommonLabels       bool              `json:"forceCommonLabels"`
	LabelWithoutSelector    bool              `json:"labelWithoutSelector"`
	LabelIncludeTemplates   bool              `json:"labelIncludeTemplates"`
	CommonAnnotations       map[string]string `json:"commonAnnotations"`
	ForceCommonAnnotations  bool              `json:"forceCommonAnnotations"`
	Patches                 []types.Patch     `json:"patches"`
	Components              []string          `json:"components"`
	IgnoreMissingComponents bool              `json:"ignoreMissingComponents"`
}

func (o Overrides) empty() bool {
	return o.NamePrefix == "" && o.NameSuffix == "" && o.Namespace == "" && len(o.Images) == 0 &&
		len(o.Replicas) == 0 && len(o.CommonLabels) == 0 && len(o.CommonAnnotations) == 0 &&
		len(o.Patches) == 0 && len(o.Components) == 0
}

// kustomizationIn finds the folder's kustomization file, "" if it has none.
func (k *fileSystem) kustomizationIn(folder string) (string, error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := path.Join(folder, name)
		stat, err := k.files.Stat(file)
		if err != nil {
			return "", err
		}
		if stat.Kind == wire.KindBlob {
			return file, nil
		}
	}
	return "", nil
}

func (k *fileSystem) origin(folder string) string {
	file, err := k.kustomizationIn(folder)
	if err != nil || file == "" {
		return folder
	}
	return file
}

// override lays the edited kustomization over the folder's own.
func (k *fileSystem) override(folder string, overrides Overrides) error {
	if overrides.empty() {
		return nil
	}
	file, err := k.kustomizationIn(folder)
	if err != nil || file == "" {
		return err // without a kustomization kustomize itself says what is missing
	}
	content, err := k.files.Read(file)
	if err != nil {
		return err
	}
	var kustomization types.Kustomization
	if err := kustomization.Unmarshal(content); err != nil {
		trouble := wire.AsFailure(err, wire.KustomizeFailed)
		trouble.File, trouble.Line = file, wire.LineOf(trouble.Message)
		return trouble
	}
	if err := k.edit(&kustomization, folder, overrides); err != nil {
		trouble := wire.AsFailure(err, wire.KustomizeFailed)
		trouble.File = file
		return trouble
	}
	k.overlay[k.inRepository(file)], err = yaml.Marshal(kustomization)
	return err
}

func (k *fileSystem) edit(kustomization *types.Kustomization, folder string, overrides Overrides) error {
	setIfPresent(&kustomization.NamePrefix, overrides.NamePrefix)
	setIfPresent(&kustomization.NameSuffix, overrides.NameSuffix)
	setIfPresent(&kustomization.Namespace, overrides.Namespace)
	if err := setImages(kustomization, overrides.Images); err != nil {
		return err
	}
	setReplicas(kustomization, overrides.Replicas)
	if err := addLabels(kustomization, overrides); err != nil {
		return err
	}
	if err := addPairs("annotation", &kustomization.CommonAnnotations, overrides.CommonAnnotations, overrides.ForceCommonAnnotations); err != nil {
		return err
	}
	kustomization.Patches = append(kustomization.Patches, overrides.Patches...)
	return k.addComponents(kustomization, folder, overrides)
}

func setIfPresent(field *string, value string) {
	if value != "" {
		*field = value
	}
}

func setReplicas(kustomization *types.Kustomization, replicas []types.Replica) {
	for _, wanted := range replicas {
		kept := kustomization.Replicas[:0]
		for _, present := range kustomization.Replicas {
			if present.Name != wanted.Name {
				kept = append(kept, present)
			}
		}
		kustomization.Replicas = append(kept, wanted)
	}
}

func addLabels(kustomization *types.Kustomization, overrides Overrides) error {
	if len(overrides.CommonLabels) == 0 {
		return nil
	}
	if !overrides.LabelWithoutSelector {
		return addPairs("label", &kustomization.CommonLabels, overrides.CommonLabels, overrides.ForceCommonLabels)
	}
	kustomization.Labels = append(kustomization.Labels, types.Label{
		Pairs: overrides.CommonLabels, IncludeTemplates: overrides.LabelIncludeTemplates,
	})
	return nil
}

func addPairs(what string, into *map[string]string, pairs map[string]string, force bool) error {
	if *into == nil {
		*into = map[string]string{}
	}
	for key, value := range pairs {
		if _, present := (*into)[key]; present && !force {
			return wire.NewFailure(wire.KustomizeFailed, "%s %s is already in the kustomization; set the force option to override it", what, key)
		}
		(*into)[key] = value
	}
	return nil
}

func (k *fileSystem) addComponents(kustomization *types.Kustomization, folder string, overrides Overrides) error {
	for _, component := range overrides.Components {
		if overrides.IgnoreMissingComponents {
			if !k.IsDir(k.inRepository(path.Join(folder, component))) {
				continue
			}
		}
		kustomization.Components = append(kustomization.Components, component)
	}
	return nil
}
