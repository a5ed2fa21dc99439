// Package rego evaluates policies.
package rego

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Query   string            `json:"query"`
	Modules map[string]string `json:"modules"`
	Data    map[string]any    `json:"data"`
	V0      bool              `json:"v0"` // the language before OPA 1.0
}

type result struct {
	Value    any            `json:"value"`
	Bindings map[string]any `json:"bindings"`
}

// prepared keeps compiled policies: evaluating one takes microseconds, compiling it milliseconds.
var prepared = map[[32]byte]rego.PreparedEvalQuery{}

const maxPrepared = 64

// Evaluate evaluates a query over modules with the body as input and gives the array of its results.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	query, err := preparedQuery(call)
	if err != nil {
		return wire.Answer{}, err
	}
	input, err := ast.ValueFromReader(bytes.NewReader(orNull(call.Body)))
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "the input is not JSON: %s", err)
	}
	found, err := query.Eval(call.Context, rego.EvalParsedInput(input))
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.RegoFailed, "%s", err)
	}
	results := make([]result, 0, len(found))
	for _, one := range found {
		results = append(results, result{Value: one.Expressions[0].Value, Bindings: one.Bindings})
	}
	body, err := json.Marshal(results)
	return wire.Answer{Body: body}, err
}

func orNull(body []byte) []byte {
	if len(body) == 0 {
		return []byte("null")
	}
	return body
}

func preparedQuery(call *operation.Call) (rego.PreparedEvalQuery, error) {
	key := sha256.Sum256(call.Params)
	if known, ok := prepared[key]; ok {
		return known, nil
	}
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return rego.PreparedEvalQuery{}, err
	}
	query, err := rego.New(optionsOf(params)...).PrepareForEval(call.Context)
	if err != nil {
		return query, wire.NewFailure(wire.RegoFailed, "%s", err)
	}
	if len(prepared) >= maxPrepared {
		clear(prepared)
	}
	prepared[key] = query
	return query, nil
}

func optionsOf(params Params) []func(*rego.Rego) {
	version := ast.RegoV1
	if params.V0 {
		version = ast.RegoV0
	}
	options := []func(*rego.Rego){
		rego.Query(params.Query), rego.SetRegoVersion(version), rego.Capabilities(offline(version)),
	}
	if params.Data != nil {
		options = append(options, rego.Store(inmem.NewFromObject(params.Data)))
	}
	for _, name := range slices.Sorted(maps.Keys(params.Modules)) {
		options = append(options, rego.Module(name, params.Modules[name]))
	}
	return options
}

// offline is what this OPA can do without the built-ins that reach the network or tell about this machine.
func offline(version ast.RegoVersion) *ast.Capabilities {
	capabilities := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(version))
	capabilities.AllowNet = []string{}
	capabilities.Builtins = slices.DeleteFunc(capabilities.Builtins, func(builtin *ast.Builtin) bool {
		switch builtin.Name {
		case "http.send", "net.lookup_ip_addr", "opa.runtime":
			return true
		}
		return false
	})
	return capabilities
}
