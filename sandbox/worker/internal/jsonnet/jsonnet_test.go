package jsonnet

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

var tree = operationtest.Files{
	"app/main.jsonnet": "{kind: std.extVar('kind'), lib: import 'x.libsonnet'}", "lib/x.libsonnet": "1 + 1", "secret": "s",
}

func TestVariablesAndLibrariesReachAFile(t *testing.T) {
	params := Params{File: "app/main.jsonnet", Variables: Variables{
		ExtVars: []Variable{{Name: "kind", Value: "A"}}, Libs: []string{"lib"},
	}}
	body, failure := operationtest.Run(t, Evaluate, params, "", tree)
	if failure != nil || body != "{\"kind\":\"A\",\"lib\":2}\n" {
		t.Errorf("%v %q", failure, body)
	}
}

// An import names a file of the repository or nothing at all, however it is written.
func TestAnImportStaysInTheRepository(t *testing.T) {
	for _, written := range []string{
		"../../x", "../../../../etc/passwd", "/../etc/passwd", "//../x", "a/../../../x", "./../../x", "..",
	} {
		for _, word := range []string{"import", "importstr", "importbin"} {
			snippet := word + " '" + written + "'"
			body, failure := operationtest.Run(t, Evaluate, Params{File: "app/main.jsonnet", Raw: true}, snippet, tree)
			if failure == nil || failure.Reason != wire.OutsideRepository {
				t.Errorf("%s: %v %q", snippet, failure, body)
			}
		}
	}
	for _, written := range []string{"/etc/passwd", "file:///etc/passwd", "https://x.org/a.libsonnet", "\\u0000", "/proc/self/environ"} {
		body, failure := operationtest.Run(t, Evaluate, Params{File: "app/main.jsonnet", Raw: true}, "importstr '"+written+"'", tree)
		if failure == nil || (failure.Reason != wire.FileNotFound && failure.Reason != wire.JsonnetFailed) {
			t.Errorf("%s: %v %q", written, failure, body)
		}
	}
}

func TestALibraryFolderStaysInTheRepository(t *testing.T) {
	for _, library := range []string{"../..", "/..", "../../etc"} {
		params := Params{File: "app/main.jsonnet", Raw: true, Variables: Variables{Libs: []string{library}}}
		body, failure := operationtest.Run(t, Evaluate, params, "importstr 'passwd'", tree)
		if failure == nil || failure.Reason != wire.OutsideRepository {
			t.Errorf("%s: %v %q", library, failure, body)
		}
	}
}
