// Package glob matches texts with patterns.
package glob

import (
	"encoding/json"

	"github.com/gobwas/glob"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Patterns   []string `json:"patterns"`
	Texts      []string `json:"texts"`
	Separators string   `json:"separators"` // characters that a single star does not cross
}

// Evaluate tells for each text which of the patterns match: {"matches": [[true, false], ...]}.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	compiled := make([]*glob.Pattern, 0, len(params.Patterns))
	for _, pattern := range params.Patterns {
		one, err := glob.Compile(pattern, []rune(params.Separators)...)
		if err != nil {
			return wire.Answer{}, wire.NewFailure(wire.GlobInvalid, "pattern %q: %s", pattern, err)
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
	return wire.Answer{Body: body}, err
}
