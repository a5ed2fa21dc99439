package semver

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestTheHighestAllowedTagIsChosenAsItIsWritten(t *testing.T) {
	params := Params{Constraint: "^1.2", Prefix: "app-", Versions: []string{"app-1.2.0", "app-v1.10.0", "1.99.0", "latest", "app-2.0.0"}}
	if body, failure := operationtest.Run(t, Evaluate, params, "", nil); failure != nil || body != `{"version":"app-v1.10.0"}` {
		t.Errorf("%v %q", failure, body)
	}
	if _, failure := operationtest.Run(t, Evaluate, Params{Constraint: "newest"}, "", nil); failure == nil || failure.Reason != wire.SemverInvalid {
		t.Error(failure)
	}
}
