package server

import (
	"plumbline.dev/sandbox/worker/internal/deeplinks"
	"plumbline.dev/sandbox/worker/internal/directory"
	"plumbline.dev/sandbox/worker/internal/glob"
	"plumbline.dev/sandbox/worker/internal/helm"
	"plumbline.dev/sandbox/worker/internal/jq"
	"plumbline.dev/sandbox/worker/internal/jsonnet"
	"plumbline.dev/sandbox/worker/internal/kustomize"
	"plumbline.dev/sandbox/worker/internal/lua"
	"plumbline.dev/sandbox/worker/internal/manifest"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/rego"
	"plumbline.dev/sandbox/worker/internal/semver"
	"plumbline.dev/sandbox/worker/internal/template"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// operations is the table of what a request may ask for. Each has a package of its own.
var operations = map[string]func(*operation.Call) (wire.Answer, error){
	"yaml":       manifest.Evaluate,
	"directory":  directory.Evaluate,
	"kustomize":  kustomize.Evaluate,
	"helm":       helm.Evaluate,
	"jsonnet":    jsonnet.Evaluate,
	"lua":        lua.Evaluate,
	"jq":         jq.Evaluate,
	"jqpaths":    jq.EvaluatePaths,
	"gotemplate": template.Evaluate,
	"rego":       rego.Evaluate,
	"semver":     semver.Evaluate,
	"glob":       glob.Evaluate,
	"deeplinks":  deeplinks.Evaluate,
}
