// Package kustomize builds a kustomization that lies in the repository.
package kustomize

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"plumbline.dev/sandbox/worker/internal/helm"
	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Path           string    `json:"path"`
	LoadRestrictor string    `json:"loadRestrictor"` // "none" lets files be used from above a kustomization's folder
	Reorder        string    `json:"reorder"`        // "none" or "legacy"; empty: kustomize's default
	ManagedByLabel bool      `json:"managedByLabel"`
	Overrides      Overrides `json:"overrides"`

	EnableHelm   bool                `json:"enableHelm"` // whether helmCharts are inflated
	KubeVersion  string              `json:"kubeVersion"`
	APIVersions  []string            `json:"apiVersions"`
	Dependencies []helm.FetchedChart `json:"dependencies"` // charts that the agent has fetched
	Bases        []FetchedBase       `json:"bases"`        // remote bases that the agent has fetched
}

// Evaluate builds a kustomization, with what the Application overrides laid over it in memory.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	root, err := repository.ExistingFolder(call.Files, params.Path)
	if err != nil {
		return wire.Answer{}, err
	}
	disk := newFileSystem(call, params)
	if err := disk.override(root, params.Overrides); err != nil {
		return wire.Answer{}, err
	}
	options := krusty.MakeDefaultOptions()
	if params.LoadRestrictor == "none" {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	options.AddManagedbyLabel = params.ManagedByLabel
	if params.Reorder != "" {
		options.Reorder = krusty.ReorderOption(params.Reorder)
	}
	built, err := krusty.MakeKustomizer(options).Run(disk, disk.inRepository(root))
	if err != nil {
		return wire.Answer{}, disk.buildFailure(root, err)
	}
	objects := manifest.NewObjects(call.Limits.OutputBytes)
	if err := disk.addBuilt(objects, root, built); err != nil {
		return wire.Answer{}, err
	}
	return objects.Answer(), nil
}

// addBuilt adds the resources of a build; their origin is the kustomization that was built.
func (k *fileSystem) addBuilt(objects *manifest.Objects, root string, built resmap.ResMap) error {
	file := k.origin(root)
	for _, resource := range built.Resources() {
		encoded, err := resource.MarshalJSON()
		if err != nil {
			return wire.NewFailure(wire.KustomizeFailed, "%s: %s", resource.CurId(), err)
		}
		if err := objects.AddDocument(file, manifest.Document{}, k.withoutFolders(encoded)); err != nil {
			return err
		}
	}
	return nil
}

const helmIsOff = "must specify --enable-helm" // kustomize's own words

var fileInKustomizeError = regexp.MustCompile(`in File: (\S+)`)

// buildFailure finds the file: the one the message names, else the kustomization of the application.
func (k *fileSystem) buildFailure(root string, err error) error {
	var known *wire.Failure
	if errors.As(err, &known) {
		return known
	}
	message := wire.WithoutPassword(k.forPeople(err.Error())) // kustomize prints what a field holds
	if strings.Contains(message, helmIsOff) {
		message = fmt.Sprintf("%s: helmCharts are inflated with --enable-helm only; add it to kustomize.buildOptions of the ConfigMap argocd-cm", root)
	}
	result := wire.NewFailure(wire.KustomizeFailed, "%s", message)
	result.File = root
	if found := fileInKustomizeError.FindStringSubmatch(message); found != nil {
		result.File = found[1]
		if path.Base(k.files.Last()) == path.Base(found[1]) {
			result.File = k.files.Last()
		}
		result.Line = wire.LineOf(message)
		if strings.Contains(message, "yaml") {
			result.Reason = wire.YamlInvalid
		}
	}
	return result
}
