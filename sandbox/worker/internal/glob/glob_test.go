package glob

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestEachTextHasARowAndEachPatternAColumn(t *testing.T) {
	params := Params{Patterns: []string{"a/*", "a/**"}, Texts: []string{"a/b", "a/b/c"}, Separators: "/"}
	if body, failure := operationtest.Run(t, Evaluate, params, "", nil); failure != nil || body != `{"matches":[[true,true],[false,true]]}` {
		t.Errorf("%v %q", failure, body)
	}
	if _, failure := operationtest.Run(t, Evaluate, Params{Patterns: []string{"[a"}}, "", nil); failure == nil || failure.Reason != wire.GlobInvalid {
		t.Error(failure)
	}
}
