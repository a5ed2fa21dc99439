package kustomize

import (
	"strings"
	"testing"

	_ "plumbline.dev/sandbox/worker/internal/confinement" // no network, as in the worker
	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// hostile are references that a kustomization may hold to make a builder fetch, or leave the repository.
var hostile = []string{
	"https://evil.example/base", "http://169.254.169.254/latest/meta-data", "HTTPS://EVIL.EXAMPLE/base",
	"https://evil.example/base.yaml?ref=main", "git::https://evil.example/a", "git@evil.example:a/b", "git@evil.example:a/b.git",
	"ssh://git@evil.example/a/b", "file:///etc", "file://../../etc/passwd", "file::/etc", "github.com/a/b", "github.com/a/b//c?ref=v1",
	"gh:a/b", "s3::https://s3.example/b/k", "hg::http://evil.example/a", "evil.example/a/b.git//c", "oci://evil.example/a",
	"../../..", "../../../etc/passwd", "/etc/passwd", "/proc/self/environ", "a/../../../../etc", "/repository/../etc/passwd",
	"https://user:secret@evil.example/base", "data:text/plain,kind", "evil.example/repo?ref=main",
}

// fields are every place of a kustomization that names a file or a folder.
var fields = map[string]string{
	"resources": "resources: ['%']", "bases": "bases: ['%']", "components": "components: ['%']", "crds": "crds: ['%']",
	"configurations": "configurations: ['%']", "generators": "generators: ['%']", "transformers": "transformers: ['%']",
	"validators": "validators: ['%']", "patches": "patches: [{path: '%'}]", "patchesStrategicMerge": "patchesStrategicMerge: ['%']",
	"patchesJson6902":    "patchesJson6902: [{target: {version: v1, kind: A, name: x}, path: '%'}]",
	"replacements":       "replacements: [{path: '%'}]",
	"openapi":            "openapi: {path: '%'}",
	"configMapGenerator": "configMapGenerator: [{name: x, files: ['%']}]",
	"env file":           "configMapGenerator: [{name: x, envs: ['%']}]",
	"secretGenerator":    "secretGenerator: [{name: x, files: ['k=%']}]",
	"helmCharts":         "helmCharts: [{name: x, repo: '%', version: '1', releaseName: r}]",
	"helm value files":   "helmCharts: [{name: x, releaseName: r, repo: 'https://h.example', additionalValuesFiles: ['%']}]",
	"helm values":        "helmGlobals: {chartHome: '%'}\nhelmCharts: [{name: x, valuesFile: '%'}]",
}

func TestNoReferenceOfAKustomizationLeavesTheRepository(t *testing.T) {
	for name, field := range fields {
		for _, written := range hostile {
			text := "resources: [x.yaml]\n" + strings.ReplaceAll(field, "%", written) + "\n"
			if name == "resources" {
				text = strings.ReplaceAll(field, "%", written) + "\n"
			}
			files := operationtest.Files{"app/kustomization.yaml": text, "app/x.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: x}\n"}
			for _, helm := range []bool{false, true} {
				body, failure := operationtest.Run(t, Evaluate, Params{Path: "app", LoadRestrictor: "none", EnableHelm: helm}, "", files)
				if failure == nil {
					t.Errorf("%s of %s was built: %q", written, name, body)
					continue
				}
				if failure.Reason == wire.WorkerFailed || strings.Contains(failure.Message, "secret") {
					t.Errorf("%s of %s: %+v", written, name, failure)
				}
			}
		}
	}
}

func TestARemoteBaseIsReportedAsOne(t *testing.T) {
	for _, written := range hostile[:18] {
		files := operationtest.Files{"app/kustomization.yaml": "resources: ['" + written + "']\n"}
		_, failure := operationtest.Run(t, Evaluate, Params{Path: "app"}, "", files)
		if failure == nil || failure.Reason != wire.RemoteBase || failure.File != "app/kustomization.yaml" {
			t.Errorf("%s: %+v", written, failure)
		}
	}
}

// What an Application lays over a kustomization is held to the same.
func TestAnOverrideFetchesNothing(t *testing.T) {
	files := operationtest.Files{"app/kustomization.yaml": "resources: [x.yaml]", "app/x.yaml": "apiVersion: v1\nkind: A\nmetadata: {name: x}\n"}
	for _, written := range hostile {
		params := Params{Path: "app", Overrides: Overrides{Components: []string{written}}}
		body, failure := operationtest.Run(t, Evaluate, params, "", files)
		if failure == nil || (failure.Reason != wire.RemoteBase && failure.Reason != wire.OutsideRepository && failure.Reason != wire.FileNotFound) {
			t.Errorf("%s: %+v %q", written, failure, body)
		}
	}
}
