package lua

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestAScriptSeesTheObject(t *testing.T) {
	body, failure := operationtest.Run(t, Evaluate, Params{Script: "return {status = obj.kind}"}, `{"kind":"A"}`, nil)
	if failure != nil || body != `{"status":"A"}` {
		t.Errorf("%v %q", failure, body)
	}
}

func TestAScriptHasNoFilesAndNoPrograms(t *testing.T) {
	for _, script := range []string{
		"return io.open('/etc/passwd')", "return os.execute('id')", "return dofile('/etc/passwd')", "return loadfile('/etc/passwd')",
		"return require('io')", "return os.getenv('HOME')", "return package.loadlib('x', 'y')", "return debug.getregistry()",
	} {
		for _, open := range []bool{false, true} {
			body, failure := operationtest.Run(t, Evaluate, Params{Script: script, UseOpenLibs: open}, "{}", nil)
			if failure == nil || failure.Reason != wire.LuaFailed {
				t.Errorf("%s: %v %q", script, failure, body)
			}
		}
	}
}
