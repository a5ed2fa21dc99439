// Package jq evaluates jq expressions.
package jq

import (
	"bytes"
	"encoding/json"

	"github.com/itchyny/gojq"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Expression string `json:"expression"`
}

// Evaluate evaluates an expression on the body and gives the array of its results. Integers of any size survive.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	query, err := gojq.Parse(params.Expression)
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.JqFailed, "%q: %s", params.Expression, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.JqFailed, "%q: %s", params.Expression, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(call.Body))
	decoder.UseNumber()
	var input any
	if err := decoder.Decode(&input); err != nil {
		return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "the input is not JSON: %s", err)
	}
	return resultsOf(call, code, input)
}

func resultsOf(call *operation.Call, code *gojq.Code, input any) (wire.Answer, error) {
	results := [][]byte{}
	size := 0
	iterator := code.RunWithContext(call.Context, input)
	for value, more := iterator.Next(); more; value, more = iterator.Next() {
		if err, failed := value.(error); failed {
			return wire.Answer{}, wire.NewFailure(wire.JqFailed, "%s", err)
		}
		encoded, err := gojq.Marshal(value)
		if err != nil {
			return wire.Answer{}, wire.NewFailure(wire.JqFailed, "%s", err)
		}
		if size += len(encoded); size > call.Limits.OutputBytes {
			return wire.Answer{}, wire.NewFailure(wire.OutputTooLarge, "the results have more than %d bytes", call.Limits.OutputBytes)
		}
		results = append(results, encoded)
	}
	body := append([]byte{'['}, bytes.Join(results, []byte{','})...)
	return wire.Answer{Body: append(body, ']')}, nil
}
