package template

import (
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestEachTemplateGivesAText(t *testing.T) {
	params := Params{Templates: []string{"{{ .a | upper }}", "{{ normalize \"A_b\" }}"}}
	if body, failure := operationtest.Run(t, Evaluate, params, `{"a":"x"}`, nil); failure != nil || body != `["X","a-b"]` {
		t.Errorf("%v %q", failure, body)
	}
}

func TestATemplateSeesNothingOfTheMachine(t *testing.T) {
	for _, source := range []string{`{{ env "HOME" }}`, `{{ expandenv "$HOME" }}`, `{{ getHostByName "x.org" }}`} {
		if body, failure := operationtest.Run(t, Evaluate, Params{Templates: []string{source}}, "null", nil); failure == nil || failure.Reason != wire.TemplateFailed {
			t.Errorf("%s: %v %q", source, failure, body)
		}
	}
}
