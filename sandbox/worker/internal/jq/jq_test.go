package jq

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestNumbersKeepEveryDigit(t *testing.T) {
	body, failure := operationtest.Run(t, Evaluate, Params{Expression: ".n, .n + 1"}, `{"n":1152921504606846976}`, nil)
	if failure != nil || body != "[1152921504606846976,1152921504606846977]" {
		t.Errorf("%v %q", failure, body)
	}
}

func TestAnExpressionSeesNothingOfTheProcess(t *testing.T) {
	for _, expression := range []string{"input_filename", "import \"x\" as x; 1", "include \"x\"; 1", "input", "$__prog_args", ".["} {
		body, failure := operationtest.Run(t, Evaluate, Params{Expression: expression}, "null", nil)
		if failure == nil && body != "[null]" || failure != nil && failure.Reason != wire.JqFailed {
			t.Errorf("%s: %v %q", expression, failure, body)
		}
	}
	t.Setenv("SANDBOX_SECRET", "s3cret")
	if body, _ := operationtest.Run(t, Evaluate, Params{Expression: "env, $ENV"}, "null", nil); body != "[{},{}]" && body != "" {
		t.Error(body)
	}
}
