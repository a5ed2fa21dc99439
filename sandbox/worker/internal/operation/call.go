// Package operation holds what every operation of the worker gets: one call, with its input, its files and its limits.
package operation

import (
	"bytes"
	"context"
	"encoding/json"

	"plumbline.dev/sandbox/worker/internal/repository"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Call is what an operation works with.
type Call struct {
	Context context.Context
	Params  json.RawMessage
	Body    []byte
	Files   *repository.Files
	Limits  wire.Limits
}

// DecodeParams decodes the operation's parameters; an unknown one is refused, so that nothing is silently ignored.
func (c *Call) DecodeParams(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(c.Params))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return wire.NewFailure(wire.RequestInvalid, "parameters: %s", err)
	}
	return nil
}
