package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

const mostPaths = 10_000

// PathParams of the operation: each expression gets its time on each document of the body, which has one a line.
type PathParams struct {
	Expressions  []string `json:"expressions"`
	Milliseconds int      `json:"milliseconds"`
}

// PathResult is what one expression names in one document: places that are there, or why it failed.
type PathResult struct {
	Paths   [][]any `json:"paths"`
	Problem string  `json:"problem"`
	Overran bool    `json:"overran"` // it had no time left: it will have none on another document either
}

// PathsAnswer has the reason why an expression does not compile, or is empty, and the results by document.
type PathsAnswer struct {
	Problems  []string       `json:"problems"`
	Documents [][]PathResult `json:"documents"`
}

// EvaluatePaths finds the places that del(EXPRESSION) would delete, in the order in which they are named.
func EvaluatePaths(call *operation.Call) (wire.Answer, error) {
	var params PathParams
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	answer := PathsAnswer{Problems: make([]string, len(params.Expressions)), Documents: [][]PathResult{}}
	codes := make([]*gojq.Code, len(params.Expressions))
	for i, expression := range params.Expressions {
		code, err := compilePath(expression)
		if err != nil {
			answer.Problems[i] = err.Error()
		}
		codes[i] = code
	}
	for line := range bytes.Lines(call.Body) {
		document, err := decode(line)
		if err != nil {
			return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "a document is not JSON: %s", err)
		}
		results := make([]PathResult, len(codes))
		for i, code := range codes {
			results[i] = named(call.Context, code, document, time.Duration(params.Milliseconds)*time.Millisecond)
			if err := call.Context.Err(); err != nil {
				return wire.Answer{}, err
			}
		}
		answer.Documents = append(answer.Documents, results)
	}
	body, err := json.Marshal(answer)
	return wire.Answer{Body: body}, err
}

// compilePath builds path(EXPRESSION) from the parsed expression, so that no text can end the call early.
func compilePath(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	function := &gojq.Func{Name: "path", Args: []*gojq.Query{query}}
	return gojq.Compile(&gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: function}})
}

func decode(line []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var document any
	err := decoder.Decode(&document)
	return document, err
}

func named(parent context.Context, code *gojq.Code, document any, limit time.Duration) PathResult {
	result := PathResult{Paths: [][]any{}}
	if code == nil {
		return result
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	iterator := code.RunWithContext(ctx, document)
	for value, more := iterator.Next(); more; value, more = iterator.Next() {
		if err, failed := value.(error); failed {
			if errors.Is(err, context.DeadlineExceeded) {
				return PathResult{Paths: [][]any{}, Problem: fmt.Sprintf("it took longer than %s", limit), Overran: true}
			}
			return PathResult{Paths: [][]any{}, Problem: err.Error()}
		}
		steps, _ := value.([]any)
		if len(steps) == 0 {
			return PathResult{Paths: [][]any{}, Problem: "it names the whole object, and a rule may only name fields"}
		}
		result.Paths = append(result.Paths, located(document, steps, nil)...)
		if len(result.Paths) > mostPaths {
			return PathResult{Paths: [][]any{}, Problem: fmt.Sprintf("it names more than %d fields", mostPaths)}
		}
	}
	return result
}

// located gives the places that exist: an index from the end is counted from the start, a slice is its indexes.
func located(value any, steps []any, before []any) [][]any {
	if len(steps) == 0 {
		return [][]any{before}
	}
	below := func(step, inner any) [][]any {
		return located(inner, steps[1:], append(before[:len(before):len(before)], step))
	}
	switch step := steps[0].(type) {
	case string:
		object, _ := value.(map[string]any)
		if inner, found := object[step]; found {
			return below(step, inner)
		}
	case map[string]any:
		list, _ := value.([]any)
		places := [][]any{}
		for index := bound(step["start"], len(list), 0); index < bound(step["end"], len(list), len(list)); index++ {
			places = append(places, below(index, list[index])...)
		}
		return places
	default:
		list, _ := value.([]any)
		if index, known := position(step, len(list)); known && index >= 0 && index < len(list) {
			return below(index, list[index])
		}
	}
	return nil
}

func bound(step any, length, missing int) int {
	index, known := position(step, length)
	if !known {
		return missing
	}
	return min(max(index, 0), length)
}

func position(step any, length int) (int, bool) {
	var index int
	switch number := step.(type) {
	case int:
		index = number
	case float64:
		index = int(number)
	case json.Number:
		whole, err := number.Int64()
		if err != nil {
			return 0, false
		}
		index = int(whole)
	default:
		return 0, false
	}
	if index < 0 {
		index += length
	}
	return index, true
}
