// Package deeplinks evaluates the links to other tools that argocd-cm describes: a Go template of the URL, and a
// condition in the language of expr-lang, both with the application, the project, the cluster or an object as data.
package deeplinks

import (
	"encoding/json"
	"fmt"

	"github.com/expr-lang/expr"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/template"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Link is one link as it is written; a condition that is empty always holds.
type Link struct {
	URL       string `json:"url"`
	Condition string `json:"condition"`
}

// Params of the operation; the body is the data.
type Params struct {
	Links []Link `json:"links"`
}

// Result is the URL of one link; it is empty where the condition does not hold, or something is wrong.
type Result struct {
	URL     string `json:"url"`
	Problem string `json:"problem"`
}

const longestURL = 4096

// Evaluate gives a result for each link: one that is wrong spoils no other.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	var data map[string]any
	if err := json.Unmarshal(call.Body, &data); err != nil {
		return wire.Answer{}, wire.NewFailure(wire.RequestInvalid, "the data is no JSON object: %s", err)
	}
	results := make([]Result, len(params.Links))
	for i, link := range params.Links {
		budget := longestURL
		holds, err := holds(link.Condition, data)
		if err == nil && holds {
			results[i].URL, err = template.Render(link.URL, nil, data, &budget)
		}
		if err != nil {
			results[i] = Result{Problem: err.Error()}
		}
	}
	body, err := json.Marshal(results)
	return wire.Answer{Body: body}, err
}

func holds(condition string, data map[string]any) (bool, error) {
	if condition == "" {
		return true, nil
	}
	program, err := expr.Compile(condition, expr.Env(data), expr.AllowUndefinedVariables())
	if err != nil {
		return false, fmt.Errorf("if: %w", err)
	}
	answer, err := expr.Run(program, data)
	if err != nil {
		return false, fmt.Errorf("if: %w", err)
	}
	holds, isBoolean := answer.(bool)
	if !isBoolean {
		return false, fmt.Errorf("if: expected true or false, found %T", answer)
	}
	return holds, nil
}
