package main

import (
	"encoding/json"

	"github.com/gobwas/glob"
)

type globParams struct {
	Patterns   []string `json:"patterns"`
	Texts      []string `json:"texts"`
	Separators string   `json:"separators"` // characters that a single star does not cross
}

// globOp tells for each text which of the patterns match: {"matches": [[true, false], ...]}.
func globOp(call *Call) (Answer, error) {
	var params globParams
	if err := call.params(&params); err != nil {
		return Answer{}, err
	}
	compiled := make([]*glob.Pattern, 0, len(params.Patterns))
	for _, pattern := range params.Patterns {
		one, err := glob.Compile(pattern, []rune(params.Separators)...)
		if err != nil {
			return Answer{}, failure(GlobInvalid, "pattern %q: %s", pattern, err)
		}
		compiled = append(compiled, one)
	}
	matches := make([][]bool, 0, len(params.Texts))
	for _, text := range params.Texts {
		row := make([]bool, 0, len(compiled))
		for _, pattern := range compiled {
			row = append(row, pattern.Match(text))
		}
		matches = append(matches, row)
	}
	body, err := json.Marshal(map[string]any{"matches": matches})
	return Answer{Body: body}, err
}
