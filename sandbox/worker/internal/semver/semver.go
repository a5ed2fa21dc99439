// Package semver chooses a version among tags.
package semver

import (
	"encoding/json"
	"strings"

	"github.com/Masterminds/semver/v3"

	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// Params of the operation.
type Params struct {
	Constraint string   `json:"constraint"`
	Versions   []string `json:"versions"`
	Prefix     string   `json:"prefix"` // only versions that begin with it count, and it is not part of the version
}

// Evaluate gives the highest of the versions that the constraint allows, as it was written; "" if none is.
// Names that are not versions are passed over: a repository has all sorts of tags.
func Evaluate(call *operation.Call) (wire.Answer, error) {
	var params Params
	if err := call.DecodeParams(&params); err != nil {
		return wire.Answer{}, err
	}
	constraint, err := semver.NewConstraint(params.Constraint)
	if err != nil {
		return wire.Answer{}, wire.NewFailure(wire.SemverInvalid, "%q: %s", params.Constraint, err)
	}
	var best *semver.Version
	written := ""
	for _, name := range params.Versions {
		bare, counts := strings.CutPrefix(name, params.Prefix)
		version, err := semver.NewVersion(bare)
		if !counts || err != nil || !constraint.Check(version) {
			continue
		}
		if best == nil || version.GreaterThan(best) {
			best, written = version, name
		}
	}
	body, err := json.Marshal(map[string]string{"version": written})
	return wire.Answer{Body: body}, err
}
