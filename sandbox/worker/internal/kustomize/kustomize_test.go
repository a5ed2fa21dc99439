package kustomize

import (
	"testing"

	"sigs.k8s.io/kustomize/api/types"
)

func TestImagesAreReadAsKustomizeEditReadsThem(t *testing.T) {
	for text, expected := range map[string]types.Image{
		"nginx:2":              {Name: "nginx", NewTag: "2"},
		"a=b:5000/c:2":         {Name: "a", NewName: "b:5000/c", NewTag: "2"},
		"a=b":                  {Name: "a", NewName: "b"},
		"host:5000/a@sha256:f": {Name: "host:5000/a", Digest: "sha256:f"},
		"a=b:1@sha256:f":       {Name: "a", NewName: "b", NewTag: "1", Digest: "sha256:f"},
	} {
		if seen, err := parseImage(text); err != nil || seen != expected {
			t.Errorf("%s: %+v %v", text, seen, err)
		}
	}
	for _, text := range []string{"", "nginx", "=", "a="} {
		if _, err := parseImage(text); err == nil {
			t.Errorf("%q was taken as an image", text)
		}
	}
}

func TestRemoteReferencesAreKnown(t *testing.T) {
	for _, text := range []string{
		"https://x.org/a", "git::https://x.org/a", "git@x.org:a/b.git", "github.com/a/b", "x.org/a/b.git//c", "x.org/a?ref=1",
	} {
		if !remote.MatchString(text) {
			t.Errorf("%s was not seen to be remote", text)
		}
	}
	for _, text := range []string{"../base", "deployment.yaml", "a/github.com.yaml", "my.gitops/x"} {
		if remote.MatchString(text) {
			t.Errorf("%s was taken for remote", text)
		}
	}
}
