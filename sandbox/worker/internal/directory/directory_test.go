package directory

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestFilesAreReadInTheOrderOfTheirPaths(t *testing.T) {
	files := operationtest.Files{
		"app/b.yaml": "kind: B", "app/a.json": `{"kind":"A"}`, "app/c/d.yml": "kind: D", "app/.argocd-source.yaml": "helm: {}", "app/.argocd-source-x.yaml": "helm: {}", "app/notes.txt": "none",
		"app/left.yaml": "# +argocd:skip-file-rendering\nkind: X", "app/e.jsonnet": "{kind: 'E'}",
	}
	body, failure := operationtest.Run(t, Evaluate, Params{Path: "app", Recurse: true}, "", files)
	if failure != nil || strings.Join(strings.Fields(body), "") != `{"kind":"A"}{"kind":"B"}{"kind":"D"}{"kind":"E"}` {
		t.Errorf("%v %q", failure, body)
	}
}

func TestTheFolderIsInTheRepository(t *testing.T) {
	for _, written := range []string{"..", "../../etc", "/..", "app/../../x", "nowhere", "app/a.yaml"} {
		body, failure := operationtest.Run(t, Evaluate, Params{Path: written}, "", operationtest.Files{"app/a.yaml": "kind: A"})
		if failure == nil || (failure.Reason != wire.OutsideRepository && failure.Reason != wire.PathNotFound) {
			t.Errorf("%s: %v %q", written, failure, body)
		}
	}
}
