package main

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
)

type kustomizeParams struct {
	Path           string             `json:"path"`
	LoadRestrictor string             `json:"loadRestrictor"` // "none" lets files be used from above a kustomization's folder
	Overrides      kustomizeOverrides `json:"overrides"`
}

// kustomizeOp builds a kustomization, with what the Application overrides laid over it in memory.
func kustomizeOp(call *Call) (Answer, error) {
	var params kustomizeParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	root, err := existingFolder(call.Files, params.Path)
	if err != nil {
		return Answer{}, err
	}
	disk := newKustomizeFiles(call.Files)
	if err := disk.override(root, params.Overrides); err != nil {
		return Answer{}, err
	}
	options := krusty.MakeDefaultOptions()
	if params.LoadRestrictor == "none" {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	built, err := krusty.MakeKustomizer(options).Run(disk, inRepository(root))
	if err != nil {
		return Answer{}, kustomizeFailure(call.Files, root, err)
	}
	objects := &Objects{limit: call.Limits.OutputBytes}
	if err := objects.addBuilt(disk.origin(root), built); err != nil {
		return Answer{}, err
	}
	return objects.answer(), nil
}

// addBuilt adds the resources of a build; their origin is the kustomization that was built.
func (o *Objects) addBuilt(file string, built resmap.ResMap) error {
	for _, resource := range built.Resources() {
		encoded, err := resource.MarshalJSON()
		if err != nil {
			return failure(KustomizeFailed, "%s: %s", resource.CurId(), err)
		}
		if err := o.addDocument(file, document{}, encoded); err != nil {
			return err
		}
	}
	return nil
}

var fileInKustomizeError = regexp.MustCompile(`in File: (\S+)`)

// kustomizeFailure finds the file: the one the message names, else the kustomization of the application.
func kustomizeFailure(files *Files, root string, err error) error {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	message := strings.NewReplacer(repositoryFolder+"/", "", "'"+repositoryFolder+"'", "'.'").Replace(err.Error())
	result := failure(KustomizeFailed, "%s", message)
	result.File = root
	if found := fileInKustomizeError.FindStringSubmatch(message); found != nil {
		result.File = found[1]
		if path.Base(files.last) == path.Base(found[1]) {
			result.File = files.last
		}
		result.Line = lineOf(message)
		if strings.Contains(message, "yaml") {
			result.Reason = YamlInvalid
		}
	}
	return result
}
