package main

import (
	"bytes"
	"encoding/json"

	"github.com/itchyny/gojq"
)

type jqParams struct {
	Expression string `json:"expression"`
}

// jqOp evaluates an expression on the body and gives the array of its results. Integers of any size survive.
func jqOp(call *Call) (Answer, error) {
	var params jqParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	query, err := gojq.Parse(params.Expression)
	if err != nil {
		return Answer{}, failure(JqFailed, "%q: %s", params.Expression, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return Answer{}, failure(JqFailed, "%q: %s", params.Expression, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(call.Body))
	decoder.UseNumber()
	var input any
	if err := decoder.Decode(&input); err != nil {
		return Answer{}, failure(RequestInvalid, "the input is not JSON: %s", err)
	}
	return jqResults(call, code, input)
}

func jqResults(call *Call, code *gojq.Code, input any) (Answer, error) {
	results := [][]byte{}
	size := 0
	iterator := code.RunWithContext(call.Context, input)
	for value, more := iterator.Next(); more; value, more = iterator.Next() {
		if err, failed := value.(error); failed {
			return Answer{}, failure(JqFailed, "%s", err)
		}
		encoded, err := gojq.Marshal(value)
		if err != nil {
			return Answer{}, failure(JqFailed, "%s", err)
		}
		if size += len(encoded); size > call.Limits.OutputBytes {
			return Answer{}, failure(OutputTooLarge, "the results have more than %d bytes", call.Limits.OutputBytes)
		}
		results = append(results, encoded)
	}
	body := append([]byte{'['}, bytes.Join(results, []byte{','})...)
	return Answer{Body: append(body, ']')}, nil
}
