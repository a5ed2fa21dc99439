package rego

import (
	"strings"
	"testing"

	"plumbline.dev/sandbox/worker/internal/operationtest"
	"plumbline.dev/sandbox/worker/internal/wire"
)

func TestAQueryIsAnsweredOverItsModules(t *testing.T) {
	params := Params{Query: "data.p.allow", Modules: map[string]string{"p.rego": "package p\nallow if input.n > 1"}}
	body, failure := operationtest.Run(t, Evaluate, params, `{"n":2}`, nil)
	if failure != nil || !strings.Contains(body, `"value":true`) {
		t.Errorf("%v %q", failure, body)
	}
}

func TestAPolicyReachesNoNetwork(t *testing.T) {
	for _, query := range []string{`http.send({"method":"get","url":"https://x.org"})`, `net.lookup_ip_addr("x.org")`, "opa.runtime()"} {
		body, failure := operationtest.Run(t, Evaluate, Params{Query: query}, "", nil)
		if failure == nil || failure.Reason != wire.RegoFailed {
			t.Errorf("%s: %v %q", query, failure, body)
		}
	}
}
