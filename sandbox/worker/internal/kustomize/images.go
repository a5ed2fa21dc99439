package kustomize

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// setImages replaces or adds images as `kustomize edit set image` does; "*" keeps the value that was there.
func setImages(kustomization *types.Kustomization, written []string) error {
	for _, text := range written {
		wanted, err := parseImage(text)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(kustomization.Images, func(present types.Image) bool { return present.Name == wanted.Name })
		if at < 0 {
			kustomization.Images = append(kustomization.Images, wanted)
			continue
		}
		present := kustomization.Images[at]
		keepIfStar(&wanted.NewName, present.NewName)
		keepIfStar(&wanted.NewTag, present.NewTag)
		keepIfStar(&wanted.Digest, present.Digest)
		kustomization.Images[at] = wanted
	}
	return nil
}

func keepIfStar(wanted *string, present string) {
	if *wanted == "*" {
		*wanted = present
	}
}

var tagged = regexp.MustCompile(`^(.*):([a-zA-Z0-9._-]*|\*)$`)

// parseImage reads "[old=]new[:tag][@digest]".
func parseImage(text string) (types.Image, error) {
	old, reference, renamed := strings.Cut(text, "=")
	if !renamed {
		reference = text
	}
	name, digest, _ := strings.Cut(reference, "@")
	tag := ""
	if found := tagged.FindStringSubmatch(name); found != nil {
		name, tag = found[1], found[2]
	}
	if name == "" || (!renamed && tag == "" && digest == "") {
		return types.Image{}, wire.NewFailure(wire.KustomizeFailed, "image %q: expected [old=]new[:tag][@digest]", text)
	}
	if !renamed {
		return types.Image{Name: name, NewTag: tag, Digest: digest}, nil
	}
	return types.Image{Name: old, NewName: name, NewTag: tag, Digest: digest}, nil
}
